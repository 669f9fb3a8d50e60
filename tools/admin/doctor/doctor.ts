// `switchyard admin doctor`: checks the installation, and writes the support bundle.
import { accessSync, constants, existsSync } from 'node:fs';
import type { CommandContext } from '../../../packages/cli/src/command-line/command-runner.ts';
import { describeFileError, fail } from '../../../packages/cli/src/runtime/command-error.ts';
import type { ExitName } from '../../../packages/cli/src/runtime/exit-codes.ts';
import { type Clock, requireDatabaseAccess } from '../../../packages/server/src/platform/index.ts';
import { requireExistingPlatform, withPlatformDatabase } from '../platform-database.ts';
import { type Finding, ok, runChecks, skipped } from './check.ts';
import { databaseChecks, type PlatformNode, readNodes } from './database-checks.ts';
import { type AcquirerLink, networkChecks, readAcquirerLinks } from './network-checks.ts';
import { checkSettings, machineChecks, type UsableSettings } from './settings-checks.ts';
import { writeSupportBundle } from './support-bundle.ts';

type Options = { readonly bundle?: string; readonly logFile?: string };

type DatabaseReport = {
  readonly findings: readonly Finding[];
  readonly links?: readonly AcquirerLink[];
  readonly nodes: readonly PlatformNode[];
};

/** Longer than the limits of its checks together. */
const databaseLimitMs = 60_000;

async function inspectDatabase({ env }: UsableSettings, clock: Clock): Promise<DatabaseReport> {
  let report: DatabaseReport = { findings: [], nodes: [] };
  const connection = {
    name: 'database',
    async run() {
      await withPlatformDatabase(env, 'doctor', async ({ settings, database }) => {
        await requireDatabaseAccess(database, settings.databaseUrl);
        report = {
          findings: await runChecks(databaseChecks(database, clock)),
          // An empty database has no table of links.
          links: await readAcquirerLinks(database).catch(() => []),
          nodes: await readNodes(database),
        };
      });
      return [ok('the database accepts the connection')];
    },
  };
  const findings = await runChecks([connection], databaseLimitMs);
  return { ...report, findings: [...findings, ...report.findings] };
}

/** Before the checks, which take time. */
function requireBundleFiles({ bundle, logFile }: Options): void {
  if (bundle !== undefined && existsSync(bundle))
    fail('usage', `${bundle} exists: name a new file for the support bundle.`);
  if (logFile === undefined) return;
  if (bundle === undefined) fail('usage', '--log-file needs --bundle.');
  try {
    accessSync(logFile, constants.R_OK);
  } catch (error) {
    fail('usage', `${logFile} cannot be read: ${describeFileError(error)}.`);
  }
}

async function inspectPlatform(usable: UsableSettings, clock: Clock): Promise<DatabaseReport> {
  const database = await inspectDatabase(usable, clock);
  const network = await runChecks(networkChecks(usable, database.links, clock));
  return { ...database, findings: [...database.findings, ...network] };
}

export async function runDoctor(
  context: CommandContext,
  _args: string[],
  options: Options,
): Promise<ExitName> {
  const { bundle, logFile } = options;
  const { environment, output } = context;
  const { env, clock } = environment;
  requireBundleFiles(options);
  // A production platform without a database is a finding; a demo would be created here.
  if (env['SWITCHYARD_ENVIRONMENT'] !== 'production') requireExistingPlatform(env);
  const { usable, results } = checkSettings(env);
  const settings = usable?.settings;
  const local = await runChecks([
    { name: 'settings', run: () => results },
    ...machineChecks(env, settings, clock),
  ]);
  const notChecked = { check: 'database', ...skipped('the settings cannot be read') };
  const { nodes, ...platform } =
    usable === undefined
      ? { findings: [notChecked], nodes: [] }
      : await inspectPlatform(usable, clock);
  const findings = [...local, ...platform.findings];
  const needsAttention = findings.some(({ status }) => status === 'Attention');
  output.printResult({ needsAttention, findings }, () =>
    output.formatTable(
      [
        'check',
        'status',
        { title: 'FINDING', value: ({ finding }) => finding, neverTruncate: true },
        { title: 'ADVICE', value: ({ advice }) => advice, neverTruncate: true },
      ],
      findings,
    ),
  );
  if (bundle !== undefined) {
    await writeSupportBundle(bundle, { env, settings, findings, nodes, logFile, now: clock.now() });
    output.printNote(`The support bundle is in ${bundle}. Read it before you send it.`);
  }
  return needsAttention ? 'fault' : 'done';
}
