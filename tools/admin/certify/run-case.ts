// Runs the steps of one case over the connection, and compares each response with the plan.
import { setTimeout as wait } from 'node:timers/promises';
import { defined } from '../../../packages/contract/src/index.ts';
import type {
  AcquirerConnection,
  AcquirerOutcome,
  AcquirerRequest,
} from '../../../packages/server/src/acquiring/index.ts';
import {
  buildFirstRequest,
  buildFollowUpRequest,
  type RequestBuilder,
  type SentPayment,
} from './build-request.ts';
import type { Case, Step } from './certification-plan.ts';
import {
  type Difference,
  describeExpectation,
  findDifferences,
  hasFields,
} from './check-expectation.ts';
import type { Secrets } from './mask-parts.ts';
import type { LoggedMessage, MessageLog, ReportedMessage } from './message-log.ts';

export type StepResult = {
  readonly action: string;
  readonly expected: string;
  readonly result: 'Passed' | 'Failed' | 'NotRun';
  /** The result for the platform. */
  readonly outcome?: string;
  readonly differences: readonly Difference[];
  readonly messages: readonly ReportedMessage[];
};

export type CaseResult = {
  readonly id: string;
  readonly title: string;
  readonly result: 'Passed' | 'Failed' | 'Skipped';
  /** Why the case was skipped. */
  readonly reason?: string;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly steps: readonly StepResult[];
};

export type CaseRunner = RequestBuilder & {
  now(): number;
  connection(): AcquirerConnection;
  /** Signs off, closes the connection and opens a new one. */
  reconnect(): Promise<void>;
  /** Waits until the link is signed on; returns false after the time-out. */
  waitUntilAvailable(): Promise<boolean>;
  askOperator(text: string): Promise<void>;
  readonly log: MessageLog;
  /** Ends waits, after Ctrl+C. */
  readonly stopping: AbortSignal;
};

const awaitSecondsDefault = 10;
const msPerSecond = 1000;

type Compare = (
  step: Step,
  response: LoggedMessage | undefined,
  outcome?: AcquirerOutcome,
) => readonly Difference[];

/** The case that runs. */
type RunningCase = {
  readonly runner: CaseRunner;
  readonly each: Case;
  readonly compare: Compare;
  readonly sent: readonly SentPayment[];
};

export class LinkUnavailableError extends Error {
  override name = 'LinkUnavailableError';
}

type StepOutcome = {
  readonly differences: readonly Difference[];
  readonly outcome?: string;
  readonly payment?: SentPayment;
};

/** A host can leave out the trace number, if its table assigns responses by other fields. */
function isResponseTo({ frame: sent }: LoggedMessage, { frame }: LoggedMessage): boolean {
  const { canonical: request } = sent;
  const { canonical: response, direction } = frame;
  if (request === undefined || response === undefined || direction === sent.direction) return false;
  const { 11: traceNumber = request.fields[11] } = response.fields;
  return (
    response.mti.slice(0, 2) === request.mti.slice(0, 2) &&
    Number(response.mti[2]) === Number(request.mti[2]) + 1 &&
    traceNumber === request.fields[11]
  );
}

const isNetworkManagement = ({ frame }: LoggedMessage): boolean => frame.canonical?.mti[1] === '8';

function takeMessage(
  messages: readonly LoggedMessage[],
  isMatch: (message: LoggedMessage) => boolean,
): LoggedMessage | undefined {
  const match = messages.find((message) => !message.isUsed && isMatch(message));
  if (match !== undefined) match.isUsed = true;
  return match;
}

/** Waits for a message of the case that no step has used. */
async function awaitMessage(
  { log, stopping }: CaseRunner,
  isMatch: (message: LoggedMessage) => boolean,
  withinMs: number,
): Promise<LoggedMessage | undefined> {
  const timeout = AbortSignal.timeout(withinMs);
  const ended = AbortSignal.any([stopping, timeout]);
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void) => {
      stopListening();
      ended.removeEventListener('abort', onEnd);
      settle();
    };
    const check = () => {
      const match = takeMessage(log.list(), isMatch);
      if (match !== undefined) finish(() => resolve(match));
    };
    const onEnd = () =>
      finish(() => (stopping.aborted ? reject(stopping.reason) : resolve(undefined)));
    const stopListening = log.onMessage(check);
    ended.addEventListener('abort', onEnd);
    if (ended.aborted) onEnd();
    else check();
  });
}

async function sendPayment(
  { runner, compare }: RunningCase,
  request: AcquirerRequest,
  step: Step,
): Promise<StepOutcome> {
  if (!(await runner.waitUntilAvailable())) throw new LinkUnavailableError();
  const { log } = runner;
  const earlier = new Set(log.list());
  const outcome = await runner.connection().send(request);
  const messages = log.list().filter((message) => !earlier.has(message));
  const sent = takeMessage(
    messages,
    (each) => each.frame.direction === 'Sent' && !isNetworkManagement(each),
  );
  const response =
    sent === undefined ? undefined : takeMessage(messages, (each) => isResponseTo(sent, each));
  const { outcome: result, ...facts } = outcome;
  const words = [result, 'responseCode' in facts ? facts.responseCode : facts.reason];
  return {
    differences: compare(step, response, outcome),
    outcome: words.join(' '),
    payment: { name: step.name, request, outcome },
  };
}

async function signOn({ runner, compare }: RunningCase, step: Step): Promise<StepOutcome> {
  await runner.reconnect();
  const withinMs = awaitSecondsDefault * msPerSecond;
  const sent = await awaitMessage(
    runner,
    ({ frame }) => frame.direction === 'Sent' && frame.canonical?.fields[70] === '001',
    withinMs,
  );
  if (sent === undefined) throw new LinkUnavailableError();
  const response = await awaitMessage(runner, (each) => isResponseTo(sent, each), withinMs);
  return { differences: compare(step, response) };
}

async function awaitStep({ runner, compare }: RunningCase, step: Step): Promise<StepOutcome> {
  const { from, mti = '', having, withinSeconds = awaitSecondsDefault, expect } = step;
  const direction = from === 'Host' ? 'Received' : 'Sent';
  const withinMs = withinSeconds * msPerSecond;
  const message = await awaitMessage(
    runner,
    ({ frame }) =>
      frame.direction === direction &&
      frame.canonical?.mti === mti &&
      hasFields(having, frame.canonical.fields),
    withinMs,
  );
  if (message === undefined) {
    const expected = `${mti} from the ${from === 'Host' ? 'host' : 'platform'}`;
    const received = `none within ${withinSeconds} seconds`;
    return { differences: [{ where: 'message', expected, received }] };
  }
  if (expect === undefined) return { differences: [] };
  const response = await awaitMessage(runner, (each) => isResponseTo(message, each), withinMs);
  return { differences: compare(step, response) };
}

function findOriginal(sent: readonly SentPayment[], step: Step): SentPayment {
  const original = sent.find(({ name }) => step.original === undefined || name === step.original);
  if (original === undefined) throw new Error(`the plan has no step ${step.original}`);
  return original;
}

function findRepeated(sent: readonly SentPayment[], step: Step): SentPayment {
  const repeated = sent.findLast(({ name }) => step.step === undefined || name === step.step);
  if (repeated === undefined) throw new Error('the plan repeats a message that was not sent');
  return repeated;
}

async function runStep(running: RunningCase, step: Step): Promise<StepOutcome> {
  const { runner, each, sent } = running;
  switch (step.do) {
    case 'Sale':
    case 'Authorization':
    case 'OfflineSale':
      return sendPayment(running, await buildFirstRequest(runner, step.do, each, step), step);
    case 'Capture':
    case 'Refund':
    case 'Reversal':
      return sendPayment(
        running,
        buildFollowUpRequest(runner, step.do, findOriginal(sent, step), step),
        step,
      );
    case 'Repeat': {
      const { request } = findRepeated(sent, step);
      return sendPayment(running, { ...request, repeat: true }, step);
    }
    case 'SignOn':
      return signOn(running, step);
    case 'Await':
      return awaitStep(running, step);
    case 'Pause':
      await wait((step.seconds ?? 0) * msPerSecond, undefined, { signal: runner.stopping });
      return { differences: [] };
    case 'Ask':
      await runner.askOperator(step.text ?? '');
      return { differences: [] };
  }
}

const describeAction = ({ do: action, name, text, amount, remainingAmount }: Step): string =>
  [action, name, amount, remainingAmount === undefined ? undefined : `down to ${remainingAmount}`]
    .concat(text)
    .filter((word) => word !== undefined)
    .join(' ');

/** All cards of the plan, because a late response can belong to an earlier case. */
function secretsOf({ plan }: CaseRunner): Secrets {
  const cards = Object.values(plan.cards);
  return {
    cardNumbers: cards.map(({ number }) => number),
    securityCodes: cards.flatMap(({ securityCode }) => securityCode ?? []),
  };
}

/**
 * Runs one case.
 *
 * @throws LinkUnavailableError if the host cannot be reached, or the reason of `stopping`
 */
export async function runCase(
  runner: CaseRunner,
  each: Case,
): Promise<Pick<CaseResult, 'result' | 'steps'>> {
  const { log } = runner;
  const secrets = secretsOf(runner);
  const compare: Compare = (step, response, outcome) =>
    findDifferences(step.expect ?? {}, { response, outcome, secrets });
  const sent: SentPayment[] = [];
  const steps: StepResult[] = [];
  let isFailed = false;
  let reportedCount = 0;
  log.clear();
  for (const step of each.steps) {
    const expected = describeExpectation(step, secrets);
    const action = describeAction(step);
    if (isFailed) {
      steps.push({ action, expected, result: 'NotRun', differences: [], messages: [] });
      continue;
    }
    const { differences, outcome, payment } = await runStep({ runner, each, compare, sent }, step);
    if (payment !== undefined) sent.push(payment);
    isFailed = differences.length > 0;
    const messages = log.list().slice(reportedCount);
    reportedCount += messages.length;
    steps.push({
      action,
      expected,
      result: isFailed ? 'Failed' : 'Passed',
      ...defined({ outcome }),
      differences,
      messages: messages.map((message) => log.report(message, secrets)),
    });
  }
  return { result: isFailed ? 'Failed' : 'Passed', steps };
}
