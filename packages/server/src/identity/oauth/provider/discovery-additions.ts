// Adds the endpoints and methods to the discovery document that oidc-provider does not serve.
import { defined } from '@switchyard/contract';
import { deviceTokenPath } from '../../devices/credential-and-claim-routes.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { logoutPath } from '../endpoints/logout-routes.ts';
import { userInfoPath } from '../endpoints/userinfo.ts';

const secretMethods = ['client_secret_basic', 'client_secret_post'] as const;

/** `deviceAuthUrl` is undefined if no device listener is configured. */
export function discoveryAdditions(
  { issuer }: Realm,
  deviceAuthUrl: string | undefined,
): Record<string, unknown> {
  return {
    userinfo_endpoint: issuer + userInfoPath,
    end_session_endpoint: issuer + logoutPath,
    response_modes_supported: ['query', 'fragment'],
    prompt_values_supported: ['none', 'login'],
    ui_locales_supported: ['en', 'fr', 'de'],
    introspection_endpoint_auth_methods_supported: secretMethods,
    revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    tls_client_certificate_bound_access_tokens: true,
    ...defined({
      mtls_endpoint_aliases:
        deviceAuthUrl === undefined
          ? undefined
          : // One listener issues the tokens of mutual TLS for all realms (RFC 8705, 5).
            { token_endpoint: deviceAuthUrl + deviceTokenPath },
    }),
  };
}
