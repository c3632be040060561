import type { Request, Response } from 'express';
import { type Operation, redirectTo } from '../../../http/endpoint/operation.ts';
import type { Client, LoginAttempt } from '../../storage/records.ts';
import { addressKey } from '../../../http/client-address.ts';
import { matchesRedirectUri } from '../../clients/metadata/redirect-uri.ts';
import type { AuthServerContext } from '../../context.ts';
import {
  checkAuthorizationRequest,
  readClientId,
  errorResponseUrl,
  type AuthorizationOutcome,
  type AuthorizationRequest,
} from '../../core/authorization.ts';
import { endpointPath } from '../../../contract/paths/public-paths.ts';
import { endpointUrl } from '../../core/metadata.ts';
import type { RequestParameters } from '../../core/request-parameters.ts';
import { readForm, readQuery, spendOfAddress } from '../../http/requests.ts';
import { Refused } from '../../http/refused.ts';
import { isTrusted } from '../../consent/remembering.ts';
import { needsConsent, showConsentPage, startFirstLeg } from '../../login/approval.ts';
import { isClientKnown } from '../../login/consent-cookie.ts';
import { issueFlowCookie } from '../../login/flow-cookie.ts';
import { sealAttempt } from '../../login/sealed-attempt.ts';
import { beginAttempt, bindToBrowser, newTsid, stepMs } from '../../login/transition.ts';
import type { AuthServerSettings } from '../../settings.ts';

const HANDLE_BYTES = 32;
const BUSY_SECONDS = 5;

/** Validates an authorization request, then asks for consent before it contacts any identity provider. @see RFC 6749 §4.1.1 */
export function authorizeEndpoint(context: AuthServerContext): readonly Operation[] {
  const { urls } = context.settings;
  const startConsent = consentStarter(context.settings);
  const answer = async (
    req: Request,
    res: Response,
    parameters: () => RequestParameters | Promise<RequestParameters>,
  ) => {
    const address = await chargeLimit(req, context);
    const asked = await parameters();
    const client = await clientOf(asked, address, context);
    const outcome = validate(asked, client, context);
    if (outcome.ok) await startConsent(req, res, { client, request: outcome.request, address }, context);
    else redirectTo(res, refusalUrl(req, client, outcome, context));
  };
  const paths = [
    ...new Set([endpointPath('authorize', urls.issuer), new URL(endpointUrl('authorize', urls)).pathname]),
  ];
  return [
    { method: 'GET', paths, answers: 'page', handle: (req, res) => answer(req, res, () => readQuery(req)) },
    { method: 'POST', paths, answers: 'page', handle: (req, res) => answer(req, res, () => readForm(req)) },
  ];
}

async function chargeLimit(
  req: Request,
  { addressOf, store, settings: { limits } }: AuthServerContext,
): Promise<string | undefined> {
  const address = addressOf(req);
  const { authorizationsPerAddress: perAddress, authorizations: overall } = limits;
  await spendOfAddress(store.rates, 'authorize', address, { perAddress, overall });
  return address;
}

async function clientOf(
  asked: RequestParameters,
  address: string | undefined,
  { clients }: AuthServerContext,
): Promise<Client> {
  const clientId = readClientId(asked);
  if (!clientId.ok) throw new Refused(clientId.reason);
  const found = await clients.find(clientId.value, address);
  if (found.ok) return found.client;
  const facts = { client_id: clientId.value, detail: found.detail };
  switch (found.reason) {
    case 'unknown':
      throw new Refused('client_unknown', { facts });
    case 'document':
    case 'unreachable': {
      const host = URL.parse(clientId.value)?.host ?? '';
      const document = { host, fault: found.fault, detail: found.detail, advertised: clients.documents().advertised };
      throw new Refused(found.reason === 'document' ? 'client_document' : 'client_document_unreachable', {
        facts,
        document,
      });
    }
    case 'busy':
      throw new Refused('rate_limited', { facts, retryAfterSeconds: BUSY_SECONDS });
  }
}

const validate = (asked: RequestParameters, client: Client, { settings }: AuthServerContext): AuthorizationOutcome =>
  checkAuthorizationRequest(asked, {
    client: client.metadata,
    scopesSupported: settings.scopesSupported,
    audiences: settings.audiences,
    matchesRedirectUri,
  });

/**
 * Returns the URL that takes an error to the client. Throws `Refused`, which shows a page, unless the operator trusts the client
 * or this user has approved it before: anybody may register a client, and an invalid request must not redirect the user to
 * an attacker's site. @see RFC 9700 §4.11.2
 */
function refusalUrl(
  req: Request,
  { client_id: clientId }: Client,
  { refusal }: Extract<AuthorizationOutcome, { ok: false }>,
  context: AuthServerContext,
): string {
  const { settings, emit } = context;
  if (refusal.to === 'page') throw new Refused(refusal.reason);
  const { redirectUri } = refusal;
  if (!isTrusted(clientId, settings.consent) && !isClientKnown(req, { clientId, redirectUri }, context))
    throw new Refused(refusal.reason, { facts: { client_id: clientId } });
  emit('request_refused', { path: req.path, reason: refusal.reason });
  return errorResponseUrl(refusal.reason, { ...refusal, issuer: settings.urls.issuer });
}

/** Validated request with its client. */
interface ValidRequest {
  readonly client: Client;
  readonly request: AuthorizationRequest;
  /** Address of the client, if it is known. */
  readonly address: string | undefined;
}

type StartConsent = (req: Request, res: Response, valid: ValidRequest, context: AuthServerContext) => Promise<void>;

/**
 * Returns the handler that starts consent. The consent page must have the origin of the callback, where its cookie is sent: the
 * page is shown here if this is that origin, else the browser is redirected to the consent endpoint.
 */
const consentStarter = ({ urls, consentUrl }: AuthServerSettings): StartConsent =>
  new URL(endpointUrl('authorize', urls)).origin === new URL(consentUrl).origin ? showConsent : redirectToConsent;

const showConsent: StartConsent = async (req, res, valid, context) => {
  const cookie = issueFlowCookie(req, res, context);
  const attempt = bindToBrowser(newAttempt(valid, context), cookie.hash);
  if (needsConsent(req, attempt, context)) {
    showConsentPage(res, { handle: sealAttempt(attempt, context), attempt, cookie }, valid.client, context);
  } else await startFirstLeg(req, res, { attempt, cookie }, context);
};

const redirectToConsent: StartConsent = async (_req, res, valid, context) => {
  const { settings, random, store, now } = context;
  const attempt = newAttempt(valid, context);
  const handle = random(HANDLE_BYTES).toString('base64url');
  const isKept = await store.loginAttempts.put(handle, attempt, stepMs(attempt, now()));
  const url = new URL(settings.consentUrl);
  url.searchParams.set('transaction', isKept ? handle : sealAttempt(attempt, context));
  redirectTo(res, url.href);
};

function newAttempt({ request, address }: ValidRequest, { settings, random, now }: AuthServerContext): LoginAttempt {
  return beginAttempt(request, {
    tsid: newTsid(random),
    providers: settings.providers,
    now: now(),
    address: address === undefined ? undefined : addressKey(address),
  });
}
