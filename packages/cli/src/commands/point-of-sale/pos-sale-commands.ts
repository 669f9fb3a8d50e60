/** `switchyard pos sale` and `pos recover`: a point of sale in one line, to try a terminal with. */

import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import {
  type Answer,
  createPosClient,
  createTerminal,
  fileServiceStore,
  type KeptService,
  minorUnitsOf,
  PosError,
  type Recovered,
  type RequestBody,
  serviceIdKeptMs,
  type Terminal,
  type TerminalTransport,
} from '@switchyard/sdk-pos';
import { type Command, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import {
  demoFolder,
  demoOption,
  membersOf,
  readDemo,
  terminalNamed,
} from '../../command-line/demo-config.ts';
import { wholeNumber } from '../../command-line/list-options.ts';
import { visible } from '../../output/escape-text.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readNamed } from '../../session/private-files.ts';
import {
  type Earlier,
  earlierOf,
  linesOf,
  moneyText,
  settledByHand,
  tellAnswer,
  told,
  tooYoung,
} from './pos-sale-output.ts';

type TillOptions = {
  readonly demo?: string;
  readonly tsn?: string;
  readonly saleId: string;
  readonly local?: string;
  readonly localCa?: string;
  readonly answerTimeout?: number;
};
type SaleOptions = TillOptions & {
  readonly currency: string;
  readonly reference?: string;
  readonly receipt?: boolean;
};
/** Names a payment whose end somebody has found out. */
type RecoverOptions = TillOptions & { readonly paid?: string; readonly notPaid?: string };

const waitSeconds = 10;
const secondMs = 1000;
const saleIdMax = 64;

function demoFacts(folder: string, wanted: string | undefined) {
  const { members, text, devices } = readDemo(folder);
  const pos = membersOf(membersOf(members['applications'])['pos']);
  const inStore = devices.filter(({ storeId }) => storeId === pos['storeId']);
  const named = terminalNamed(inStore, wanted)?.tsn ?? wanted;
  const tsn = named ?? fail('notFound', 'The demo has no terminal in the store of this till.');
  return {
    tsn,
    baseUrl: text('baseUrl'),
    tokenUrl: `${text('authUrl')}/oauth2/v1/${text('userDomainId')}/token`,
    clientId: text('clientId', pos),
    clientSecret: text('clientSecret', pos),
    ca: readNamed(text('caFile')),
  };
}

/** A part of a file name: nothing of it leads out of the folder. */
function saleIdIn({ saleId }: TillOptions): string {
  if (/^[\w-]+$/.test(saleId) && saleId.length <= saleIdMax) return saleId;
  return fail('usage', 'A till is named by letters, digits, - and _.');
}

type Till = { readonly terminal: Terminal; readonly tsn: string; readonly isLocal: boolean };

/** Opens a till, has it do its work, and closes it whatever comes. */
async function withTill<Result>(
  { world, screen, globals }: Kit,
  options: TillOptions & { readonly amountText?: string },
  work: (till: Till, recovered: readonly Recovered[]) => Promise<Result>,
): Promise<Result> {
  const saleId = saleIdIn(options);
  const folder = demoFolder(world, options.demo);
  const { tsn, baseUrl, tokenUrl, ca, ...own } = demoFacts(folder, options.tsn);
  const client = createPosClient({
    baseUrl,
    tls: { ca },
    timeoutMs: globals.timeout * secondMs,
    credentials: { tokenUrl, ...own },
  });
  const { local, localCa, answerTimeout } = options;
  const tls = localCa === undefined ? {} : { ca: readNamed(localCa) };
  const transport: TerminalTransport =
    local === undefined
      ? { kind: 'cloud', client, tsn, waitSeconds, takeOver: true }
      : { kind: 'local', url: local, tls };
  const store = fileServiceStore(
    join(folder, 'tills', `${saleId}-${tsn.replace(/\W/g, '_')}.jsonl`),
  );
  const show = (lines: readonly string[]) => {
    // The amount stands above all of them.
    const told = lines.filter((line) => line !== options.amountText).join(' · ');
    if (told !== '') screen.note(`  ${visible(told)}`);
  };
  const terminal = createTerminal({
    saleId,
    poiId: tsn,
    transport,
    store,
    ...defined({
      times: answerTimeout === undefined ? undefined : { answerMs: answerTimeout * secondMs },
    }),
    devices: { Display: (body) => shownBy(body, show) },
    onEvent: ({ body }) => screen.note(`  The terminal tells: ${visible(body.EventToNotify)}`),
    onLate: ({ header }) =>
      screen.note(`  A late answer to ${visible(header.ServiceID ?? '')}: look at the terminal.`),
  });
  try {
    const isOpen = ({ outcome = 'Unknown' }: KeptService) => outcome === 'Unknown';
    const opening = terminal.open({ signal: world.stopping });
    const opened = await ((await store.load()).some(isOpen) ? asking(opening) : opening);
    return await work({ terminal, tsn, isLocal: local !== undefined }, opened);
  } catch (error) {
    return told(error);
  } finally {
    try {
      await terminal.close();
    } catch (error) {
      // The result stands, and the terminal is free again in a minute.
      screen.note(`  The session was not ended in order: ${visible(textOf(error))}`);
    } finally {
      client.close();
      store.close();
    }
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function shownBy(body: RequestBody<'Display'>, show: (lines: readonly string[]) => void) {
  show(linesOf(body));
  const OutputResult = body.DisplayOutput.map(({ Device, InfoQualify }) => ({
    Device,
    InfoQualify,
    Response: { Result: 'Success' as const },
  }));
  return { OutputResult };
}

function minorUnits(text: string, currency: string): number {
  try {
    const amount = minorUnitsOf(text, currency);
    if (amount > 0) return amount;
  } catch {
    // Told below, as an amount of nothing is.
  }
  return fail('usage', `${text} is no amount of ${currency}.`);
}

/** So that the terminal tells what it does. Whoever wants no login is asked to pay all the same. */
async function logIn({ terminal }: Till, at: string): Promise<void> {
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
    // A login takes no money, whatever became of it.
    const { kind, message, code, status, retryable, retryAfterMs } = error;
    throw new PosError(kind, message, { code, status, retryable, retryAfterMs });
  }
}

/** Sells; Ctrl+C asks the terminal to end, and its answer is waited for all the same. */
async function pay(
  { world, screen }: Kit,
  till: Till,
  order: { amount: number; currency: string; transactionId: string },
): Promise<Answer<'Payment'>> {
  const { stopping } = world;
  const onStop = () => {
    screen.clearLine();
    screen.note('  Aborting: the answer of the terminal is waited for. Ctrl+C once more leaves.');
  };
  await logIn(till, new Date(world.clock.now()).toISOString());
  stopping.addEventListener('abort', onStop, { once: true });
  try {
    return await till.terminal.sale(order, { signal: stopping });
  } finally {
    stopping.removeEventListener('abort', onStop);
  }
}

/** What an earlier run left open comes first: whoever asks again may mean the sale that was paid. */
function unsettledIn(earlier: readonly Earlier[]): Earlier | undefined {
  return earlier.find(({ outcome }) => outcome !== 'NotPaid');
}

/** Whoever ends the asking knows as little as before. */
async function asking<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof PosError) || error.kind !== 'Aborted') throw error;
    const { kind, code } = error;
    throw new PosError(kind, 'the terminal was asked no more', { code, outcome: 'Unknown' });
  }
}

const isUnknownPayment = ({
  kept,
  outcome = kept.outcome,
}: Pick<Recovered, 'kept'> & Partial<Recovered>): boolean =>
  kept.header.MessageCategory === 'Payment' && outcome === 'Unknown';

/**
 * What stood open at the start, and what nobody could tell of in an earlier run. Where the terminal cannot tell of
 * one, it is asked of no other: each would take minutes, and nothing is sold before the first is known.
 */
async function recoveredAt(
  { world }: Kit,
  { terminal }: Till,
  opened: readonly Recovered[],
): Promise<Recovered[]> {
  const asked = new Set(opened.map(({ kept }) => kept.serviceId));
  const recovered = [...opened];
  for (const kept of terminal.unknown()) {
    if (asked.has(kept.serviceId) || !isUnknownPayment({ kept })) continue;
    const { stopping: signal } = world;
    recovered.push(
      recovered.some(isUnknownPayment)
        ? { kept, outcome: 'Unknown' }
        : await asking(terminal.recover(kept.serviceId, { signal })),
    );
  }
  return recovered;
}

const earlierIn = (recovered: readonly Recovered[], currency: string): Earlier[] =>
  recovered.flatMap((each) => earlierOf(each, currency) ?? []);

async function sale(kit: Kit, wanted: string, options: SaleOptions): Promise<ExitName | undefined> {
  const { world, screen } = kit;
  const { currency, receipt: withReceipt = false } = options;
  const amount = minorUnits(wanted, currency);
  const amountText = moneyText(amount, currency);
  return withTill(kit, { ...options, amountText }, async (till, opened) => {
    const earlier = earlierIn(await recoveredAt(kit, till, opened), currency);
    for (const { text } of earlier) screen.note(text);
    if (unsettledIn(earlier) !== undefined) {
      screen.result({ result: 'NotAsked', earlier }, () => 'Nothing new was asked for.\n');
      return 'unsettled';
    }
    const way = till.isLocal ? 'the local network' : 'the Cloud Connector';
    screen.note(`${amountText} at ${till.tsn}\n  over ${way}`);
    const transactionId = options.reference ?? `sale-${world.clock.now()}`;
    const answer = await pay(kit, till, { amount, currency, transactionId });
    tellAnswer(kit, answer, { currency, withReceipt });
    if (answer.result !== 'Failure') return undefined;
    return answer.condition === 'Aborted' && world.stopping.aborted ? 'interrupted' : 'refused';
  });
}

/**
 * The terminal's own word goes before what anybody says: it is asked first. That a payment was not made is believed
 * of nobody else while the terminal may still run it, or tell of it once it is back.
 */
async function settledAt(
  { world }: Kit,
  { terminal }: Till,
  opened: readonly Recovered[],
  { serviceId, isPaid }: { readonly serviceId: string; readonly isPaid: boolean },
): Promise<Earlier[]> {
  const isNamed = ({ kept }: Pick<Recovered, 'kept'>) => kept.serviceId === serviceId;
  const { stopping: signal } = world;
  const others = opened.filter((each) => !isNamed(each));
  const isOpen = terminal.unknown().some((kept) => isNamed({ kept }) && isUnknownPayment({ kept }));
  const told =
    opened.find(isNamed) ??
    (isOpen
      ? await asking(terminal.recover(serviceId, { signal }))
      : fail('notFound', `No payment ${serviceId} is open.`));
  if (!isUnknownPayment(told)) return earlierIn([...others, told], usual);
  const isYoung = world.clock.now() - told.kept.at < serviceIdKeptMs;
  if (!isPaid && isYoung) return [...earlierIn(others, usual), tooYoung(told)];
  await terminal.settle(serviceId, isPaid ? 'Done' : 'NotDone');
  return [...earlierIn(others, usual), settledByHand(told, isPaid)];
}

const usual = 'EUR';

/** Asks how sales ended of which that is not known, and sells nothing. */
async function recover(kit: Kit, options: RecoverOptions): Promise<ExitName | undefined> {
  const { paid, notPaid } = options;
  const serviceId = paid ?? notPaid;
  return withTill(kit, options, async (till, opened) => {
    const earlier =
      serviceId === undefined
        ? earlierIn(await recoveredAt(kit, till, opened), usual)
        : await settledAt(kit, till, opened, { serviceId, isPaid: paid !== undefined });
    kit.screen.result({ earlier }, () =>
      earlier.length === 0 ? 'Nothing is open.\n' : earlier.map(({ text }) => `${text}\n`).join(''),
    );
    return till.terminal.unknown().some((kept) => isUnknownPayment({ kept }))
      ? 'unsettled'
      : undefined;
  });
}

function tillOptions(command: Command): Command {
  return command
    .addOption(demoOption())
    .option('--tsn <tsn>', 'which terminal, by its name or serial number; left out, the first')
    .addOption(new Option('--sale-id <name>', 'the name of the till').default('till-1'))
    .option('--local <url>', 'by the local network, such as https://127.0.0.2:8443/nexo')
    .option('--local-ca <file>', 'the certificate that the local terminal is believed by')
    .addOption(
      new Option(
        '--answer-timeout <seconds>',
        'when the terminal is asked how it ended; left out, 150, and 120 by the local network',
      ).argParser(wholeNumber),
    );
}

export function addSaleCommands(pos: Command, { act }: Runner): void {
  tillOptions(pos.command('sale'))
    .description('Has an amount paid at a terminal of the demo. Ctrl+C aborts it at the terminal.')
    .argument('<amount>', 'in major units, such as 12.50')
    .addOption(new Option('--currency <code>', 'of the amount').default('EUR'))
    .option('--reference <text>', 'what the till calls the sale')
    .option('--receipt', 'shows the receipt of the customer too')
    .addHelpText(
      'after',
      `
A sale that an earlier run left open is asked for first. If it was paid, or if nobody can tell,
nothing new is asked for, and the command ends with 11.

Example:
  $ switchyard pos sale 12.50 --tsn 10000001`,
    )
    .action(
      act<SaleOptions>((kit, [amount = ''], options) => sale(kit, amount, options), {
        finishes: true,
      }),
    );
  tillOptions(pos.command('recover'))
    .description('Asks the terminal how sales ended of which that is not known; it sells nothing.')
    .addOption(
      new Option(
        '--paid <serviceId>',
        'settles a payment that the terminal cannot tell of any more: it was paid',
      ).conflicts('notPaid'),
    )
    .option(
      '--not-paid <serviceId>',
      'settles such a payment, from 48 hours after it began: it was not paid',
    )
    .addHelpText(
      'after',
      `
A terminal remembers a payment for 48 hours. What it cannot tell of after that stays open until
somebody has looked for it, at the platform or in the books, and settles it. Before that only the
terminal can say that it was not paid: --not-paid leaves it open, and the command ends with 11.

Examples:
  $ switchyard pos recover
  $ switchyard pos recover --not-paid 0GK3Z81Q2M`,
    )
    .action(
      act<RecoverOptions>((kit, _args, options) => recover(kit, options), { finishes: true }),
    );
}
