// Runs the cases of a plan in order, stores their results, and stops in order after Ctrl+C.
import type { CommandContext } from '../../../packages/cli/src/command-line/command-runner.ts';
import { waitForEnter } from '../../../packages/cli/src/output/prompt.ts';
import { CommandError, fail } from '../../../packages/cli/src/runtime/command-error.ts';
import { buildReference } from '../../../packages/server/src/acquiring/index.ts';
import { isoTime } from '../../../packages/server/src/platform/index.ts';
import { findTerminalAndCard } from './build-request.ts';
import type { CertificationLink, HostLink } from './certification-link.ts';
import type { Case, CertificationPlan } from './certification-plan.ts';
import { type CaseResult, type CaseRunner, LinkUnavailableError, runCase } from './run-case.ts';
import type { RunState } from './run-state.ts';

export type CaseSelection = { readonly from?: string; readonly only?: string };

const msPerSecond = 1000;
/** Counts the messages of the link, under this name in place of a terminal. */
const messagesOfLink = 'link';

export function selectCases(
  { cases }: CertificationPlan,
  { from, only }: CaseSelection,
  state: RunState,
): readonly Case[] {
  const start = from === undefined ? 0 : cases.findIndex(({ id }) => id === from);
  if (start === -1) fail('usage', `The plan has no case ${from}.`);
  const selected = cases
    .slice(start)
    .filter(({ id, title }) => only === undefined || `${id} ${title}`.includes(only));
  if (selected.length === 0) fail('usage', `No case contains “${only}”.`);
  if (from !== undefined || only !== undefined) return selected;
  const unfinishedCases = cases.filter(({ id }) => state.findResult(id) === undefined);
  if (unfinishedCases.length > 0) return unfinishedCases;
  // Every case has a result: this is a new run.
  state.forgetResults();
  return cases;
}

type Step = Case['steps'][number];

const awaitsFunction = ({ do: action, from, having }: Step, code: string): boolean =>
  action === 'Await' && from === 'Platform' && having?.['70'] === code;

const isSignOn = (step: Step): boolean => step.do === 'SignOn' || awaitsFunction(step, '001');

const isPlatformEcho = (step: Step): boolean => awaitsFunction(step, '301');

/** Why the case cannot run on this link; undefined if it can. */
function findSkipReason({ context, plan, link, open, hsm }: Run, each: Case): string | undefined {
  const { macKey, zoneMasterKey } = link.settings;
  const { signOnBy = 'Connection', echoSeconds } = open.host.table.network;
  if (signOnBy !== 'Connection' && each.steps.some(isSignOn))
    return 'no connection signs on with the signOnBy of the host table';
  if (echoSeconds === null && each.steps.some(isPlatformEcho))
    return 'the host table has no echo test (echoSeconds)';
  if (each.needs?.includes('MacKey') && macKey === undefined) return 'the link has no macKey';
  if (each.needs?.includes('ZoneMasterKey') && zoneMasterKey === undefined)
    return 'the link has no zoneMasterKey';
  const pinSteps = each.steps.filter(({ withPin }) => withPin === true);
  if (pinSteps.length > 0 && open.connection().getZonePinKey?.() === undefined)
    return 'the link has no zonePinKey';
  const pins = pinSteps.map((step) => findTerminalAndCard(plan, each, step).card.pin);
  if (hsm !== 'software' && pins.some((pin) => typeof pin === 'string'))
    return 'the HSM cannot encrypt a PIN in clear; record a pinBlock and its ksn at a test terminal';
  const hasTerminal = context.environment.stdin.isTTY === true;
  if (!hasTerminal && each.steps.some((step) => step.do === 'Ask'))
    return 'a step needs an operator, and standard input is not a terminal';
  return undefined;
}

export type Run = {
  readonly context: CommandContext;
  readonly plan: CertificationPlan;
  readonly link: HostLink;
  readonly open: CertificationLink;
  readonly state: RunState;
  /** The type of the HSM, as in the settings. */
  readonly hsm: string;
};

function createRunner({ context, plan, link, open, state }: Run): CaseRunner {
  const { environment } = context;
  return {
    plan,
    link,
    log: open.messages,
    now: () => environment.clock.now(),
    connection: open.connection,
    translatePin: open.translatePin,
    reconnect: open.reconnect,
    waitUntilAvailable: () => open.waitUntilAvailable(environment.stopping),
    createReference: (kind, terminalId) =>
      buildReference(
        { kind, timeZone: plan.merchant.timeZone },
        {
          terminalId,
          terminalNumber: state.takeTraceNumber(terminalId),
          linkNumber: state.takeTraceNumber(messagesOfLink),
        },
        environment.clock.now(),
        open.connection().numberFormats,
      ),
    askOperator: (text) => waitForEnter(environment, text),
    stopping: environment.stopping,
  };
}

/** @throws LinkUnavailableError, or the reason of `stopping` */
async function runOneCase(run: Run, each: Case): Promise<CaseResult> {
  const runner = createRunner(run);
  const startedAt = runner.now();
  const { id, title } = each;
  const reason = findSkipReason(run, each);
  const finish = (result: Pick<CaseResult, 'result' | 'steps'>) => ({
    id,
    title,
    ...result,
    startedAt: isoTime(startedAt),
    durationMs: runner.now() - startedAt,
  });
  if (reason !== undefined) return { ...finish({ result: 'Skipped', steps: [] }), reason };
  return finish(await runCase(runner, each));
}

/** Ctrl+C in a prompt. */
const isInterruption = (error: unknown): boolean =>
  error instanceof CommandError && error.exit === 'interrupted';

const resultLabels = { Passed: 'ok     ', Failed: 'FAILS  ', Skipped: 'skipped' } as const;

/** Runs the cases in order, and stores each result. Returns the error of a run that ended early. */
export async function runCases(
  run: Run,
  cases: readonly Case[],
): Promise<CommandError | undefined> {
  const { context, open, state, link } = run;
  const { stopping } = context.environment;
  for (const each of cases) {
    try {
      stopping.throwIfAborted();
      const result = await runOneCase(run, each);
      state.addResult(result);
      const seconds = (result.durationMs / msPerSecond).toFixed(1);
      context.output.printNote(
        `${resultLabels[result.result]} ${each.id}  ${each.title}  ${seconds} s`,
      );
    } catch (error) {
      if (stopping.aborted || isInterruption(error))
        return new CommandError(
          'interrupted',
          `Interrupted in the case ${each.id}. The finished cases are stored: run the command again to continue.`,
        );
      if (!(error instanceof LinkUnavailableError)) throw error;
      const { host, port } = link.settings;
      return new CommandError(
        'unreachable',
        `The link is not signed on to ${host}:${port} in the case ${each.id}: ${open.findFault()}. Correct the cause, and run the command again to continue.`,
      );
    }
  }
  return undefined;
}
