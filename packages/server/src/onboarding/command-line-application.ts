// The public application of the command line, with which the first users of an organisation sign in.
import { ProblemError } from '@switchyard/contract';
import type { Identity } from '../identity/index.ts';

/** The command line uses this client ID and listens on this address. */
const commandLineClientId = 'switchyard-cli';
const loopbackOrigin = 'http://localhost:8976';

type UserDomainKey = { readonly organizationId: string; readonly userDomainId: string };

/**
 * It has no role, so its users have only the permissions of their groups. An administrator
 * may delete it; it is not created again.
 */
export async function createCommandLineApplication(
  { createPublicApplication }: Pick<Identity, 'createPublicApplication'>,
  { organizationId, userDomainId }: UserDomainKey,
): Promise<void> {
  try {
    await createPublicApplication({
      organizationId,
      userDomainId,
      clientId: commandLineClientId,
      name: 'Switchyard command line',
      description:
        'Signs users in at the command line, in the browser or with a one-time password.',
      entityType: 'tenant',
      entityId: organizationId,
      roles: [],
      securityFlows: ['AuthorizationCode', 'Password'],
      redirectUris: [`${loopbackOrigin}/callback`],
      webOrigins: [loopbackOrigin],
    });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
  }
}
