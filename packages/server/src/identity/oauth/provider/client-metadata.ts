// Converts applications to the client metadata of oidc-provider, and provides them as its clients.
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';
import type { Application } from '../../clients/application-record.ts';
import { grantTypesOf } from '../grants/grant-types.ts';

/** Metadata members of the platform: web origins, and the error form of failed callbacks. */
export const webOriginsMember = 'web_origins';
export const callbackErrorMember = 'callback_error';

const isWebAddress = (uri: string) => /^https?:/.test(uri);

/** oidc-provider rejects a client that has a response type but no redirect URI. */
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
          // oidc-provider requires a value; the platform compares the hash instead
          // (create-realm-provider.ts).
          client_secret: secretHash.toString('base64url'),
        }),
  };
}

/** The published types of oidc-provider omit the constructor parameter. */
type MakeClient = new (metadata: AdapterPayload) => Client;

/**
 * Validating the metadata costs more than the rest of a token request, so each client is created
 * once. A client belongs to its provider and to the cached application.
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
