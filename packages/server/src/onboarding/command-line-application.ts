// The application by which the first people of an organisation sign in, before it has made one of its own.
import { Refusal } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';

/** The command line looks for it under this name; the address is the one that it listens on. */
const consoleClientId = 'switchyard-cli';
const origin = 'http://localhost:8976';

type Place = { readonly organizationId: string; readonly userDomainId: string };

/**
 * It has no role: whoever signs in by it has the rights of his groups and no other. An administrator
 * may delete it; once made it is never made again.
 */
export async function openConsole(
  { createPublicApplication }: Pick<Identity, 'createPublicApplication'>,
  { organizationId, userDomainId }: Place,
): Promise<void> {
  try {
    await createPublicApplication({
      organizationId,
      userDomainId,
      clientId: consoleClientId,
      name: 'Switchyard command line',
      description:
        'Signs people in at the command line, by the browser or with a one-time password.',
      entityType: 'tenant',
      entityId: organizationId,
      roles: [],
      securityFlows: ['AuthorizationCode', 'Password'],
      redirectUris: [`${origin}/callback`],
      webOrigins: [origin],
    });
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'already_exists') throw error;
  }
}
