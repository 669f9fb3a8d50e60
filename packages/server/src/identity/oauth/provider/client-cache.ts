// What the library knows of an application: made once for each state of it, and shared by all requests.
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';
import type { Application } from '../../clients/application.ts';
import { clientMetadata } from './client-metadata.ts';

/** The published types leave out what it is made from. */
type MakeClient = new (metadata: AdapterPayload) => Client;

/**
 * Checking the metadata costs more than the rest of a token: it is done once, not for each. A client
 * holds its provider, so it goes with that one, and with the application as the cache has it.
 */
export function serveClients(
  provider: Provider,
  find: (clientId: string) => Promise<Application | undefined>,
): void {
  const { Client } = provider;
  const made = new WeakMap<Application, Client>();
  Client.find = async (clientId: string): Promise<Client | undefined> => {
    const application = await find(clientId);
    if (application === undefined) return undefined;
    const known = made.get(application);
    if (known !== undefined) return known;
    const client = new (Client as unknown as MakeClient)(clientMetadata(application));
    made.set(application, client);
    return client;
  };
}
