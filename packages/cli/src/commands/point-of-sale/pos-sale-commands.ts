/** `switchyard pos sale` and `pos recover`: a point of sale that pays at a terminal of the demo. */

import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import {
  createPosClient,
  createTerminal,
  fileServiceStore,
  PosError,
  parseDecimalAmount,
  type RecoveredService,
  type RequestBody,
  type StoredService,
  serviceIdRetentionMs,
  type Terminal,
  type TerminalResponse,
  type TerminalTransport,
} from '@switchyard/sdk-pos';
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import {
  demoFolder,
  demoOption,
  findTerminal,
  readDemoConfig,
  tsnOption,
} from '../../command-line/demo-config.ts';
import { parseWholeNumber } from '../../command-line/list-options.ts';
import { membersOf } from '../../http/problem-details.ts';
import { escapeText } from '../../output/escape-text.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readInputFile } from '../../session/private-files.ts';
import {
  displayLines,
  type EarlierPayment,
  formatMoney,
  notYetSettleable,
  printAnswer,
  settledManually,
  throwAsCommandError,
  toEarlierPayment,
} from './pos-sale-output.ts';

type TerminalOptions = {
  readonly demo?: string;
  readonly tsn?: string;
  readonly saleId: string;
  readonly local?: string;
  readonly localCa?: string;
  readonly answerTimeout?: number;
};
type SaleOptions = TerminalOptions & {
  readonly currency: string;
  readonly reference?: string;
  readonly receipt?: boolean;
};
/** The service id of a payment whose outcome the user has found out. */
type RecoverOptions = TerminalOptions & { readonly paid?: string; readonly notPaid?: string };

const waitSeconds = 10;
const secondMs = 1000;
const saleIdMax = 64;

function readPosConfig(folder: string, requested: string | undefined) {
  const { members, text, devices } = readDemoConfig(folder);
  const pos = membersOf(membersOf(members['applications'])['pos']);
  const inStore = devices.filter(({ storeId }) => storeId === pos['storeId']);
  const terminalTsn = findTerminal(inStore, requested)?.tsn ?? requested;
  const tsn =
    terminalTsn ??
    fail(
      'notFound',
      'The demo has no terminal in the store of its point of sale. Name one with --tsn.',
    );
  return {
    tsn,
    baseUrl: text('baseUrl'),
    tokenUrl: `${text('authUrl')}/oauth2/v1/${text('userDomainId')}/token`,
    clientId: text('clientId', pos),
    clientSecret: text('clientSecret', pos),
    ca: readInputFile(text('caFile')),
  };
}

/** The sale id is a part of a file name, so it must not contain path separators. */
function requireSaleId({ saleId }: TerminalOptions): string {
  if (/^[\w-]+$/.test(saleId) && saleId.length <= saleIdMax) return saleId;
  return fail('usage', `--sale-id may contain up to ${saleIdMax} letters, digits, - and _.`);
}

type TerminalSession = {
  readonly terminal: Terminal;
  readonly tsn: string;
  readonly isLocal: boolean;
  /** The payments of this point of sale at this terminal. */
  readonly storeFile: string;
};

/** Opens the session with the terminal, runs the function and closes the session in every case. */
async function withTerminal<Result>(
  { environment, output, globals }: CommandContext,
  options: TerminalOptions & { readonly amountText?: string },
  run: (session: TerminalSession, recovered: readonly RecoveredService[]) => Promise<Result>,
): Promise<Result> {
  const saleId = requireSaleId(options);
  const folder = demoFolder(environment, options.demo);
  const { tsn, baseUrl, tokenUrl, ca, ...own } = readPosConfig(folder, options.tsn);
  const client = createPosClient({
    baseUrl,
    tls: { ca },
    timeoutMs: globals.timeout * secondMs,
    credentials: { tokenUrl, ...own },
  });
  const { local, localCa, answerTimeout } = options;
  const tls = localCa === undefined ? {} : { ca: readInputFile(localCa) };
  const transport: TerminalTransport =
    local === undefined
      ? { kind: 'cloud', client, tsn, waitSeconds, takeOver: true }
      : { kind: 'local', url: local, tls };
  const storeFile = join(folder, 'tills', `${saleId}-${tsn.replace(/[^\w-]/g, '_')}.jsonl`);
  const store = fileServiceStore(storeFile);
  const show = (lines: readonly string[]) => {
    // The amount is printed already, above these lines.
    const text = lines.filter((line) => line !== options.amountText).join(' · ');
    if (text !== '') output.printNote(`  ${escapeText(text)}`);
  };
  const terminal = createTerminal({
    saleId,
    poiId: tsn,
    transport,
    store,
    ...defined({
      times: answerTimeout === undefined ? undefined : { answerMs: answerTimeout * secondMs },
    }),
    devices: { Display: (body) => displayResult(body, show) },
    onEvent: ({ body }) =>
      output.printNote(`  Event of the terminal: ${escapeText(body.EventToNotify)}`),
    onLateResponse: ({ header }) =>
      output.printNote(
        `  A late response to ${escapeText(header.ServiceID ?? '')}: check the terminal.`,
      ),
  });
  try {
    const isOpen = ({ outcome = 'Unknown' }: StoredService) => outcome === 'Unknown';
    const opening = terminal.open({ signal: environment.stopping });
    const recoveredAtOpen = await ((await store.load()).some(isOpen)
      ? asUnknownWhenAborted(opening)
      : opening);
    return await run({ terminal, tsn, isLocal: local !== undefined, storeFile }, recoveredAtOpen);
  } catch (error) {
    return throwAsCommandError(error);
  } finally {
    try {
      await terminal.close();
    } catch (error) {
      // The result is valid; the session ends by itself after a minute.
      output.printNote(
        `  The session with the terminal was not closed: ${escapeText(errorMessage(error))}`,
      );
    } finally {
      client.close();
      store.close();
    }
  }
}

const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function displayResult(body: RequestBody<'Display'>, show: (lines: readonly string[]) => void) {
  show(displayLines(body));
  const OutputResult = body.DisplayOutput.map(({ Device, InfoQualify }) => ({
    Device,
    InfoQualify,
    Response: { Result: 'Success' as const },
  }));
  return { OutputResult };
}

function parseAmount(text: string, currency: string): number {
  try {
    const amount = parseDecimalAmount(text, currency);
    if (amount > 0) return amount;
  } catch {
    // The error below covers this and an amount of zero.
  }
  return fail(
    'usage',
    `${text} is not an amount of ${currency}. Enter an amount in major units, such as 12.50.`,
  );
}

/** After a Login the terminal reports its progress. A terminal that rejects Login can still be asked to pay. */
async function sendLogin({ terminal }: TerminalSession, at: string): Promise<void> {
  try {
    await terminal.request('Login', {
      DateTime: at,
      OperatorLanguage: 'en',
      SaleSoftware: { ApplicationName: 'switchyard pos', SoftwareVersion: '1' },
      SaleTerminalData: { SaleCapabilities: ['CashierStatus'] },
    });
  } catch (error) {
    if (!(error instanceof PosError)) throw error;
    if (error.kind === 'Terminal') return;
    // A Login moves no money, so its outcome does not matter.
    const { kind, message, code, status, retryable, retryAfterMs } = error;
    throw new PosError(kind, message, { code, status, retryable, retryAfterMs });
  }
}

/** Sends the payment. Ctrl+C sends an abort, and the command still waits for the response. */
async function pay(
  { environment, output }: CommandContext,
  session: TerminalSession,
  order: { amount: number; currency: string; transactionId: string },
): Promise<TerminalResponse<'Payment'>> {
  const { stopping } = environment;
  const onStop = () => {
    output.clearLine();
    output.printNote(
      '  Aborting: waiting for the response of the terminal. Press Ctrl+C again to stop without it.',
    );
  };
  await sendLogin(session, new Date(environment.clock.now()).toISOString());
  stopping.addEventListener('abort', onStop, { once: true });
  try {
    return await session.terminal.sale(order, { signal: stopping });
  } finally {
    stopping.removeEventListener('abort', onStop);
  }
}

/** An earlier payment that was paid or is unknown stops the new sale: it may be the same sale. */
function findUnsettled(earlier: readonly EarlierPayment[]): EarlierPayment | undefined {
  return earlier.find(({ outcome }) => outcome !== 'NotPaid');
}

/** A recovery that the user aborts leaves the outcome unknown. */
async function asUnknownWhenAborted<Result>(recovery: Promise<Result>): Promise<Result> {
  try {
    return await recovery;
  } catch (error) {
    if (!(error instanceof PosError) || error.kind !== 'Aborted') throw error;
    const { kind, code } = error;
    throw new PosError(kind, 'the request for the outcome was aborted', {
      code,
      outcome: 'Unknown',
    });
  }
}

const isUnknownPayment = ({
  service,
  outcome = service.outcome,
}: Pick<RecoveredService, 'service'> & Partial<RecoveredService>): boolean =>
  service.header.MessageCategory === 'Payment' && outcome === 'Unknown';

/**
 * Recovers the payments with an unknown outcome, of this start and of earlier runs. After the first that
 * stays unknown it asks for no other: each takes minutes, and the first already prevents a new sale.
 */
async function recoverPayments(
  { environment }: CommandContext,
  { terminal }: TerminalSession,
  recoveredAtOpen: readonly RecoveredService[],
): Promise<RecoveredService[]> {
  const askedServiceIds = new Set(recoveredAtOpen.map(({ service }) => service.serviceId));
  const recovered = [...recoveredAtOpen];
  for (const service of terminal.unknownServices()) {
    if (askedServiceIds.has(service.serviceId) || !isUnknownPayment({ service })) continue;
    const { stopping: signal } = environment;
    recovered.push(
      recovered.some(isUnknownPayment)
        ? { service, outcome: 'Unknown' }
        : await asUnknownWhenAborted(terminal.recover(service.serviceId, { signal })),
    );
  }
  return recovered;
}

const toEarlierPayments = (
  recovered: readonly RecoveredService[],
  currency: string,
): EarlierPayment[] => recovered.flatMap((each) => toEarlierPayment(each, currency) ?? []);

async function sale(
  context: CommandContext,
  [requested = '']: string[],
  options: SaleOptions,
): Promise<ExitName | undefined> {
  const { environment, output } = context;
  const { currency, receipt: withReceipt = false } = options;
  const amount = parseAmount(requested, currency);
  const amountText = formatMoney(amount, currency);
  return withTerminal(context, { ...options, amountText }, async (session, recoveredAtOpen) => {
    const earlier = toEarlierPayments(
      await recoverPayments(context, session, recoveredAtOpen),
      currency,
    );
    for (const { text } of earlier) output.printNote(text);
    if (findUnsettled(earlier) !== undefined) {
      output.printResult({ result: 'NotAsked', earlier }, () => 'No new payment was started.\n');
      return 'unsettled';
    }
    const route = session.isLocal ? 'the local network' : 'the Cloud Connector';
    output.printNote(`${amountText} at ${session.tsn}\n  over ${route}`);
    const transactionId = options.reference ?? `sale-${environment.clock.now()}`;
    const answer = await pay(context, session, { amount, currency, transactionId });
    printAnswer(context, answer, { currency, withReceipt });
    if (answer.result !== 'Failure') return undefined;
    return answer.condition === 'Aborted' && environment.stopping.aborted
      ? 'interrupted'
      : 'refused';
  });
}

/**
 * Settles a payment as the user says, but asks the terminal first: its answer wins. "Not paid" is accepted only
 * when the terminal cannot run or report the payment any more.
 */
async function settlePayment(
  { environment }: CommandContext,
  { terminal }: TerminalSession,
  recoveredAtOpen: readonly RecoveredService[],
  { serviceId, isPaid }: { readonly serviceId: string; readonly isPaid: boolean },
): Promise<EarlierPayment[]> {
  const hasServiceId = ({ service }: Pick<RecoveredService, 'service'>) =>
    service.serviceId === serviceId;
  const { stopping: signal } = environment;
  const others = recoveredAtOpen.filter((each) => !hasServiceId(each));
  const isOpen = terminal
    .unknownServices()
    .some((service) => hasServiceId({ service }) && isUnknownPayment({ service }));
  const recoveredPayment =
    recoveredAtOpen.find(hasServiceId) ??
    (isOpen
      ? await asUnknownWhenAborted(terminal.recover(serviceId, { signal }))
      : fail(
          'notFound',
          `There is no open payment ${serviceId}. List the open payments: switchyard pos recover`,
        ));
  if (!isUnknownPayment(recoveredPayment))
    return toEarlierPayments([...others, recoveredPayment], defaultCurrency);
  const isRecent = environment.clock.now() - recoveredPayment.service.at < serviceIdRetentionMs;
  if (!isPaid && isRecent && recoveredPayment.condition !== 'NotFound')
    return [...toEarlierPayments(others, defaultCurrency), notYetSettleable(recoveredPayment)];
  await terminal.setOutcome(serviceId, isPaid ? 'Done' : 'NotDone');
  return [...toEarlierPayments(others, defaultCurrency), settledManually(recoveredPayment, isPaid)];
}

const defaultCurrency = 'EUR';

/** Requests the outcome of unknown payments from the terminal; starts no payment. */
async function recover(
  context: CommandContext,
  _args: string[],
  options: RecoverOptions,
): Promise<ExitName | undefined> {
  const { paid, notPaid } = options;
  const serviceId = paid ?? notPaid;
  return withTerminal(context, options, async (session, recoveredAtOpen) => {
    const earlier =
      serviceId === undefined
        ? toEarlierPayments(
            await recoverPayments(context, session, recoveredAtOpen),
            defaultCurrency,
          )
        : await settlePayment(context, session, recoveredAtOpen, {
            serviceId,
            isPaid: paid !== undefined,
          });
    context.output.printResult({ earlier }, () =>
      earlier.length === 0
        ? `No payment is open in ${escapeText(session.storeFile)}.\n`
        : earlier.map(({ text }) => `${text}\n`).join(''),
    );
    return session.terminal.unknownServices().some((service) => isUnknownPayment({ service }))
      ? 'unsettled'
      : undefined;
  });
}

const terminalOptions = [
  demoOption,
  tsnOption,
  option('--sale-id <name>', 'name of the point of sale (Nexo SaleID)', {
    default: 'till-1',
  }),
  option(
    '--local <url>',
    'reach the terminal at this local address, such as https://127.0.0.2:8443/nexo',
  ),
  option('--local-ca <file>', 'certificate of the local terminal, as PEM'),
  option(
    '--answer-timeout <seconds>',
    'time without a response after which the command requests the outcome; default: 150, or 120 with --local',
    { parse: parseWholeNumber },
  ),
];

export const saleCommands: readonly CommandDefinition[] = [
  {
    command: 'sale <amount>',
    arguments: { amount: 'amount in major units, such as 12.50' },
    description:
      'Starts a payment at a terminal of the demo and waits for its outcome. Ctrl+C aborts the payment.',
    finishes: true,
    options: [
      ...terminalOptions,
      option('--currency <code>', 'currency of the amount', { default: 'EUR' }),
      option('--reference <text>', 'reference of the sale at the point of sale'),
      option('--receipt', 'print the receipt of the customer too'),
    ],
    run: sale,
    help: `The command first requests the outcome of earlier payments whose outcome is unknown. If one of them was
approved, or its outcome is still unknown, the command starts no new payment and ends with exit code 11.`,
    examples: ['switchyard pos sale 12.50 --tsn 10000001'],
  },
  {
    command: 'recover',
    description:
      'Requests from the terminal the outcome of payments whose outcome is unknown. The command starts no payment.',
    finishes: true,
    options: [
      ...terminalOptions,
      option(
        '--paid <serviceId>',
        'record that this payment was paid, if the terminal no longer knows its outcome',
        { conflicts: ['notPaid'] },
      ),
      option(
        '--not-paid <serviceId>',
        'record that this payment was not paid; accepted if the terminal does not know it, or 48 hours after its start',
      ),
    ],
    run: recover,
    help: `A terminal stores a payment for 48 hours. While it knows the payment, --not-paid changes nothing, and the
exit code is 11. After 48 hours, or if the terminal was exchanged or reset, it cannot report the outcome. Then
do not sell the same order again: look for the payment on the platform, and record the result with --paid or
--not-paid. A new terminal with another TSN has its own list: add --tsn with the old one.`,
    examples: ['switchyard pos recover', 'switchyard pos recover --not-paid 0GK3Z81Q2M'],
  },
];
