// `switchyard acquirer certify`: runs the test script of an acquirer against its test host, and writes a signed report.
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../../../packages/cli/src/command-line/command-runner.ts';
import { fail } from '../../../packages/cli/src/runtime/command-error.ts';
import type { ExitName } from '../../../packages/cli/src/runtime/exit-codes.ts';
import { canonicalJson } from '../../../packages/contract/src/index.ts';
import { signDocument } from '../../../packages/server/src/audit/index.ts';
import {
  buildVersion,
  type Database,
  isoTime,
  readSettings,
  requirePlatformKey,
  type Settings,
} from '../../../packages/server/src/platform/index.ts';
import {
  findAcquirerLinks,
  isTerminalOfHost,
} from '../../../packages/server/src/provisioning/index.ts';
import { withExistingPlatform } from '../platform-database.ts';
import {
  type CertificationLink,
  type HostLink,
  openCertificationLink,
} from './certification-link.ts';
import type { CertificationPlan } from './certification-plan.ts';
import { readCertificationPlan } from './read-plan.ts';
import { reportFile, writeReport } from './report.ts';
import type { CaseReport, Report } from './report-document.ts';
import { type CaseSelection, runCases, selectCases } from './run-plan.ts';
import { openRunState } from './run-state.ts';

type Options = CaseSelection & {
  readonly link: string;
  readonly plan: string;
  readonly report?: string;
  readonly restart?: boolean;
};

async function findHostLink(database: Database, nameOrId: string): Promise<HostLink> {
  const links = await findAcquirerLinks(database, nameOrId);
  const [link] = links;
  if (link === undefined)
    return fail('notFound', `No approved acquirer link has the id or the name ${nameOrId}.`);
  if (links.length > 1)
    fail(
      'usage',
      `${links.length} links have the name ${nameOrId}; use one of these ids: ${links.map(({ linkId }) => linkId).join(', ')}.`,
    );
  if (link.adapter !== 'iso8583-host')
    return fail(
      'usage',
      `The link ${link.name} uses HTTP. Check its server with “switchyard acquirer conformance”.`,
    );
  return link;
}

/** Trace numbers count for each terminal, so the terminals of the plan must not belong to live payments. */
async function requireOwnTerminals(
  database: Database,
  link: HostLink,
  { terminals }: CertificationPlan,
): Promise<void> {
  for (const [name, terminalId] of Object.entries(terminals))
    if (await isTerminalOfHost(database, link.settings, terminalId))
      fail(
        'usage',
        `The terminal ${name} of the plan, ${terminalId}, is in the terminalIdRange of a contract of a link to this host. Use a terminal that no contract has, so that trace numbers of live payments are not repeated.`,
      );
}

function formatReport(
  { output }: Pick<CommandContext, 'output'>,
  report: Report,
  directory: string,
): string {
  const rows = report.cases.flatMap((each) =>
    'steps' in each
      ? each.steps.flatMap(({ action, differences }) =>
          differences.map((difference) => ({ case: each.id, step: action, ...difference })),
        )
      : [],
  );
  const { passed, failed, skipped, notRun } = report.totals;
  const table =
    rows.length === 0
      ? ''
      : `${output.formatTable(['case', 'step', 'where', 'expected', 'received'], rows)}\n`;
  const seconds = (report.durationMs / 1000).toFixed(1);
  return `${table}${passed} passed, ${failed} failed, ${skipped} skipped, ${notRun} not run; ${seconds} s\nReport: ${join(directory, 'report.html')}\n`;
}

type Certification = {
  readonly context: CommandContext;
  readonly options: Options;
  readonly plan: CertificationPlan;
  readonly planSha256: string;
  readonly link: HostLink;
  readonly open: CertificationLink;
  readonly settings: Settings;
};

function openState({ context, options, planSha256, link, open }: Certification) {
  const { host } = open;
  const directory = options.report ?? `certification-${link.name.replaceAll(/[^\w.-]/g, '-')}`;
  mkdirSync(directory, { recursive: true });
  const subject = {
    link: link.linkId,
    plan: planSha256,
    table: hash('sha256', canonicalJson(host.table)),
    version: [buildVersion.version, buildVersion.commit].filter(Boolean).join(' '),
  };
  const restart = options.restart === true;
  const state = openRunState(directory, subject, { restart, now: context.environment.clock.now() });
  return { directory, subject, state };
}

/** Runs the plan, and writes the report also if the run ends early. */
async function certifyLink(certification: Certification): Promise<ExitName | undefined> {
  const { context, options, plan, link, open, settings } = certification;
  const { directory, subject, state } = openState(certification);
  const cases = selectCases(plan, options, state);
  const run = { context, plan, link, open, state, hsm: settings.hsm };
  const early = await runCases(run, cases);
  const results: CaseReport[] = plan.cases.map(
    ({ id, title }) => state.findResult(id) ?? { id, title, result: 'NotRun' },
  );
  const now = isoTime(context.environment.clock.now());
  const { host, port, tls, institutionId } = link.settings;
  const head = {
    plan: { name: plan.name, sha256: subject.plan },
    link: { id: link.linkId, name: link.name, host, port, tls, institutionId },
    hostTable: { name: open.host.table.name, sha256: subject.table },
    software: subject.version,
    startedAt: results.map((each) => ('startedAt' in each ? each.startedAt : now)).sort()[0] ?? now,
    finishedAt: now,
    durationMs: results.reduce(
      (sum, each) => sum + ('durationMs' in each ? each.durationMs : 0),
      0,
    ),
  };
  const report = writeReport(directory, head, results, (document) =>
    signDocument(settings.platformKey, document),
  );
  const { cases: _cases, ...summary } = report;
  context.output.printResult({ ...summary, report: join(directory, reportFile) }, () =>
    formatReport(context, report, directory),
  );
  if (early !== undefined) throw early;
  return report.totals.failed > 0 ? 'notConforming' : undefined;
}

export async function certify(
  context: CommandContext,
  _args: string[],
  options: Options,
): Promise<ExitName | undefined> {
  const { env } = context.environment;
  const plan = readCertificationPlan(options.plan);
  const planSha256 = hash('sha256', readFileSync(options.plan));
  let exit: ExitName | undefined;
  await withExistingPlatform(env, 'acquirer certify', async ({ database }) => {
    // The keys of the link need the settings of a process with the role cards.
    const settings = readSettings(env);
    await requirePlatformKey(database, settings.platformKey);
    const link = await findHostLink(database, options.link);
    await requireOwnTerminals(database, link, plan);
    const open = await openCertificationLink({ settings, database, link, plan });
    try {
      exit = await certifyLink({ context, options, plan, planSha256, link, open, settings });
    } finally {
      await open.close();
    }
  });
  return exit;
}
