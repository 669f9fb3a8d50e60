// `switchyard admin realm-keys`: lists and replaces the signing keys of a user domain.
import type { CommandContext } from '../../packages/cli/src/command-line/command-runner.ts';
import { createIdentity, type Identity } from '../../packages/server/src/identity/index.ts';
import { isoTime } from '../../packages/server/src/platform/index.ts';
import { createAuditAndJobs, withExistingPlatform } from './platform-database.ts';

function withIdentity(
  { environment }: CommandContext,
  command: string,
  action: (identity: Identity) => Promise<void>,
): Promise<void> {
  return withExistingPlatform(environment.env, `realm-keys ${command}`, async (platform) => {
    const { jobs: _jobs, ...parts } = await createAuditAndJobs(platform);
    const { settings } = platform;
    const identity = createIdentity({
      ...parts,
      settings,
      masterKey: settings.platformKey,
      findDevice: async () => undefined,
    });
    try {
      await action(identity);
    } finally {
      await identity.close();
    }
  });
}

async function printKeys({ output }: CommandContext, identity: Identity, domain: string) {
  const keys = (await identity.signingKeys.list(domain)).map(
    ({ keyId, algorithm, state, activeFrom, retireAt }) => ({
      keyId,
      algorithm,
      state,
      signsFrom: isoTime(activeFrom),
      verifiesUntil: retireAt === undefined ? null : isoTime(retireAt),
    }),
  );
  output.printResult({ keys }, () =>
    output.formatTable(
      [
        { title: 'KEY', value: ({ keyId }) => keyId, neverTruncate: true },
        'algorithm',
        'state',
        { title: 'SIGNS FROM', value: ({ signsFrom }) => signsFrom },
        { title: 'VERIFIES UNTIL', value: ({ verifiesUntil }) => verifiesUntil },
      ],
      keys,
    ),
  );
}

export const listRealmKeys = (context: CommandContext, [domain = '']: string[]): Promise<void> =>
  withIdentity(context, 'list', (identity) => printKeys(context, identity, domain));

export function rotateKeys(
  context: CommandContext,
  [domain = '']: string[],
  { now = false }: { readonly now?: boolean },
): Promise<void> {
  const printNote = (text: string) => context.output.printNote(`${domain}: ${text}`);
  return withIdentity(context, 'rotate', async (identity) => {
    if (now) {
      await identity.signingKeys.replaceAtOnce(domain);
      printNote(
        'the new keys sign now; within one minute all processes refuse the tokens of the old keys',
      );
    } else if (await identity.signingKeys.rotate(domain)) printNote('new keys are published');
    else
      printNote(
        'nothing changed: new keys were already published less than an hour ago and do not sign yet',
      );
    await printKeys(context, identity, domain);
  });
}
