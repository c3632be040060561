import { dex } from './dex.ts';
import { hydra } from './hydra.ts';
import { keycloak } from './keycloak.ts';
import type { Provider } from './provider.ts';
import { springAuthorizationServer } from './spring-authorization-server.ts';
import { zitadel } from './zitadel.ts';

/** Identity providers that `make interop` starts. */
export const PROVIDERS: readonly Provider[] = [keycloak, dex, springAuthorizationServer, zitadel, hydra];
