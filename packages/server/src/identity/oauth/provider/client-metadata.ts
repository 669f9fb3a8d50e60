// How the authorization server sees an application: as client metadata of OpenID registration.
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';
import type { Application } from '../../clients/application.ts';
import { grantTypesOf } from '../grants/grant-table.ts';

/** Our own members: the origins whose scripts may call, and the word of a failed callback. */
export const webOriginsMember = 'web_origins';
export const callbackErrorMember = 'callback_error';

const isWebAddress = (uri: string) => /^https?:/.test(uri);

/** The library refuses a client as a whole that has a response type and no redirect URI. */
function redirects({ securityFlows, redirectUris }: Application): AdapterPayload {
  if (!securityFlows.includes('AuthorizationCode') || redirectUris.length === 0) {
    return { response_types: [], redirect_uris: [] };
  }
  return {
    response_types: ['code'],
    redirect_uris: [...redirectUris],
    application_type: redirectUris.every(isWebAddress) ? 'web' : 'native',
  };
}

function clientMetadata(application: Application): AdapterPayload {
  const { clientId, name, secretHash, securityFlows, webOrigins, callbackError } = application;
  return {
    client_id: clientId,
    client_name: name,
    grant_types: grantTypesOf(securityFlows),
    ...redirects(application),
    [webOriginsMember]: [...webOrigins],
    [callbackErrorMember]: callbackError,
    ...(secretHash === undefined
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_basic',
          // The library wants one; ours never compares it in clear (see provider.ts).
          client_secret: secretHash.toString('base64url'),
        }),
  };
}

/** The published types leave out what it is made from. */
type MakeClient = new (metadata: AdapterPayload) => Client;

/**
 * Checking the metadata costs more than the rest of a token: it is done once, not for each. A client
 * holds its provider, so it goes with that one, and with the application as the cache has it.
 */
export function provideClients(
  provider: Provider,
  find: (clientId: string) => Promise<Application | undefined>,
): void {
  const { Client } = provider;
  const clients = new WeakMap<Application, Client>();
  Client.find = async (clientId: string): Promise<Client | undefined> => {
    const application = await find(clientId);
    if (application === undefined) return undefined;
    const cached = clients.get(application);
    if (cached !== undefined) return cached;
    const client = new (Client as unknown as MakeClient)(clientMetadata(application));
    clients.set(application, client);
    return client;
  };
}
