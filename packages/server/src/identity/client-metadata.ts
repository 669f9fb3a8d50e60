// How the authorization server sees an application: as client metadata of OpenID registration.
import type { AdapterPayload } from 'oidc-provider';
import { grantTypesOf } from './grants/index.ts';
import type { Application } from './types.ts';

/** Our own member: the origins whose scripts may call the token endpoint. */
export const webOriginsMember = 'web_origins';

export function clientMetadata(application: Application): AdapterPayload {
  const { clientId, name, secretHash, securityFlows, webOrigins } = application;
  return {
    client_id: clientId,
    client_name: name,
    grant_types: grantTypesOf(securityFlows),
    response_types: [],
    redirect_uris: [],
    [webOriginsMember]: [...webOrigins],
    ...(secretHash === undefined
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_basic',
          // The library wants one; ours never compares it in clear (see provider.ts).
          client_secret: secretHash.toString('base64url'),
        }),
  };
}
