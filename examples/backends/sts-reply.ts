/** Credentials as the Security Token Service of AWS gives them. */
export interface GivenCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** ms since the epoch. */
  readonly expiresAt: number;
}

/** Body of a successful AssumeRoleWithWebIdentity, with the members and the order of AWS. */
export const assumedRole = (
  { accessKeyId, secretAccessKey, sessionToken, expiresAt }: GivenCredentials,
  arn: string,
): string =>
  `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>subject</SubjectFromWebIdentityToken>
    <Audience>vmcp</Audience>
    <AssumedRoleUser>
      <Arn>${arn}</Arn>
      <AssumedRoleId>AROACLKWSDQRAOEXAMPLE:session</AssumedRoleId>
    </AssumedRoleUser>
    <Credentials>
      <SessionToken>${sessionToken}</SessionToken>
      <SecretAccessKey>${secretAccessKey}</SecretAccessKey>
      <Expiration>${new Date(expiresAt).toISOString()}</Expiration>
      <AccessKeyId>${accessKeyId}</AccessKeyId>
    </Credentials>
    <Provider>https://login.example.com</Provider>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata>
    <RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId>
  </ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>
`;

/** Body of an error of AWS. */
export const stsError = (code: string, message: string): string =>
  `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <Error>
    <Type>Sender</Type>
    <Code>${code}</Code>
    <Message>${message}</Message>
  </Error>
  <RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId>
</ErrorResponse>
`;
