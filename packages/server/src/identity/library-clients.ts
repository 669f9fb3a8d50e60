// What the library knows of an application: made once for each state of it, and shared by all requests.
import { LRUCache } from 'lru-cache';
import type Provider from 'oidc-provider';
import type { AdapterPayload, Client } from 'oidc-provider';
import { clientMetadata } from './client-metadata.ts';
import type { Application } from './types.ts';

/** Of all realms together; the library itself would keep a hundred of each. */
const cachedClientsMax = 2_000;

/** The published types leave out what it is made from. */
type MakeClient = new (metadata: AdapterPayload) => Client;

type Made = { readonly application: Application; readonly client: Client };

export type LibraryClients = ReturnType<typeof createLibraryClients>;

export function createLibraryClients() {
  const made = new LRUCache<string, Made>({ max: cachedClientsMax });

  return {
    /** Checking the metadata costs more than the rest of a token: it is done once, not for each. */
    serve(provider: Provider, find: (clientId: string) => Promise<Application | undefined>): void {
      const { Client } = provider;
      Client.find = async (clientId: string): Promise<Client | undefined> => {
        const application = await find(clientId);
        if (application === undefined) return undefined;
        const name = `${application.organizationId}/${clientId}`;
        const known = made.get(name);
        // Another state of the application, or a provider that was made anew for other keys.
        if (known?.application === application && known.client instanceof Client) {
          return known.client;
        }
        const client = new (Client as unknown as MakeClient)(clientMetadata(application));
        made.set(name, { application, client });
        return client;
      };
    },
  };
}
