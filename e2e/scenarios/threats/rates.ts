/** `authServerConfig.rateLimits` that are high enough for tests with many requests. */
export const GENEROUS = {
  authorizationsPerMinute: 100_000,
  registrationsPerMinute: 10_000,
  registrationsPerMinuteOverall: 10_000,
  documentFetchesPerMinute: 10_000,
  failuresPerMinute: 100_000,
} as const;
