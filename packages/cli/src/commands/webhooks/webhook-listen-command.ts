/** `webhooks listen`: events as they happen, handed to a server of this machine as the platform would. */

import { defined, eventTypes, isEventPattern } from '@switchyard/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { follow } from '../../command-line/follow-event-stream.ts';
import { wholeNumber, words } from '../../command-line/list-options.ts';
import { jsonText, visible } from '../../output/escape-text.ts';
import {
  below,
  fitted,
  msText,
  padded,
  sideBySide,
  statusColour,
  timeOf,
} from '../../output/line-layout.ts';
import type { Screen } from '../../output/output.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readNamed } from '../../session/private-files.ts';
import {
  createForwarder,
  type FeedEvent,
  type Forwarded,
  type Forwarder,
} from '../../webhooks/event-forwarder.ts';
import { createWebhookSigner, webhookSecret } from '../../webhooks/webhook-signer.ts';

export type ListenOptions = {
  readonly forwardTo?: string;
  readonly events?: string[];
  readonly merchant?: string;
  readonly after?: string;
  readonly count?: number;
  readonly header?: string[];
  readonly forwardCaFile?: string;
  readonly printJson?: boolean;
  readonly printSecret?: boolean;
};

/** What stands behind it begins at the same place in every line. */
const typeWidth = Math.max(...eventTypes.map((type) => type.length));
const eventIdWidth = 36;
/** Below the status. */
const indent = 14;
const isTaken = (done: Forwarded): boolean =>
  'status' in done && done.status >= 200 && done.status < 300;

export function patternsOf(events: readonly string[]): string[] {
  const unknown = events.filter((pattern) => !isEventPattern(pattern));
  if (unknown.length > 0) {
    fail(
      'usage',
      `No event is called ${unknown.join(', ')}.`,
      'They are listed by: switchyard webhooks events',
    );
  }
  return [...events];
}

function forwardUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return fail('usage', `${text} is no address.`);
  return url;
}

function headersFrom(given: readonly string[] = []): Record<string, string> {
  const pairs = given.map((text) => {
    const at = text.indexOf(':');
    if (at < 1) return fail('usage', `“${text}” is not name:value.`);
    const [name, value] = [text.slice(0, at).trim().toLowerCase(), text.slice(at + 1).trim()];
    return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) && !/[^\t\x20-\x7e]/.test(value)
      ? [name, value]
      : fail('usage', `“${text}” is no header.`);
  });
  return Object.fromEntries(pairs);
}

/** Time, what became of it, the type, and as much of what names it as there is room for. */
function eventLines(
  event: FeedEvent,
  done: Forwarded | undefined,
  { paint, width }: Screen,
): string {
  const position = `#${event.position}`;
  const status = done !== undefined && 'status' in done ? done.status : undefined;
  const result =
    done === undefined
      ? []
      : [
          paint(statusColour(status), status === undefined ? '---' : String(status)),
          msText(done.ms),
        ];
  const cells = 12 + (done === undefined ? 0 : 17) + 2 + typeWidth + 2 + position.length;
  const hasRoom = width === undefined || cells + 2 + eventIdWidth <= width;
  const line = sideBySide([
    paint('dim', timeOf(event.timestamp)),
    ...result,
    padded(fitted(event.type, undefined), typeWidth),
    ...(hasRoom ? [fitted(event.eventId, undefined)] : []),
    paint('dim', position),
  ]);
  if (done === undefined || isTaken(done)) return line;
  const [said = ''] = 'status' in done ? done.answer.trim().split('\n') : [done.fault];
  return said === '' ? line : `${line}\n${below(said, indent, width, paint)}`;
}

async function tell(
  { screen }: Kit,
  event: FeedEvent,
  done: Forwarded | undefined,
  printsBody: boolean,
): Promise<void> {
  if (screen.json) {
    await screen.line({ ...event, ...defined({ forwarded: done }) });
    return;
  }
  const { type, timestamp, data } = event;
  const body = printsBody ? `\n${jsonText({ type, timestamp, data }, 2)}` : '';
  await screen.row(`${eventLines(event, done, screen)}${body}`);
}

type Count = { taken: number; refused: number };

async function listen(kit: Kit, options: ListenOptions, forwarder: Forwarder | undefined) {
  const { after, merchant: merchantId, printJson = false } = options;
  const types = options.events === undefined ? undefined : patternsOf(options.events).join(',');
  const count: Count = { taken: 0, refused: 0 };
  let left = options.count ?? Number.POSITIVE_INFINITY;
  const onOpen = () => kit.screen.note('Waiting for events; Ctrl+C ends it.');
  const query = { types, merchantId };
  for await (const { data } of follow(kit, '/events/v1', { query, after, onOpen })) {
    const event = JSON.parse(data) as FeedEvent;
    const done = await forwarder?.send(event);
    if (kit.world.stopping.aborted && done !== undefined && 'fault' in done) break;
    await tell(kit, event, done, printJson);
    if (done === undefined || isTaken(done)) count.taken += 1;
    else count.refused += 1;
    left -= 1;
    if (left === 0) break;
  }
  return count;
}

function describe(kit: Kit, url: URL | undefined, secret: string): void {
  const { note } = kit.screen;
  const { profileName, profile } = kit.session();
  note(`Events of    ${profile.url} (profile ${profileName})`);
  if (url === undefined) return;
  note(`forwarded to ${visible(url.href)}`);
  note(`signed with  ${secret} (the same each time)`);
}

async function run(kit: Kit, options: ListenOptions): Promise<ExitName | undefined> {
  const { forwardTo, forwardCaFile, printSecret } = options;
  const secret = webhookSecret(kit.world, kit.session().profile);
  const signer = createWebhookSigner(secret);
  if (printSecret) {
    const told = { secret, publicKey: signer.publicKey };
    kit.screen.result(told, () => `${secret}\n`);
    return undefined;
  }
  const url = forwardTo === undefined ? undefined : forwardUrl(forwardTo);
  const forwarder =
    url === undefined
      ? undefined
      : createForwarder({
          url,
          signer,
          clock: kit.world.clock,
          stopping: kit.world.stopping,
          headers: headersFrom(options.header),
          ca: forwardCaFile === undefined ? undefined : readNamed(forwardCaFile),
          timeoutMs: kit.globals.timeout * 1000,
        });
  describe(kit, url, secret);
  try {
    const { taken, refused } = await listen(kit, options, forwarder);
    if (kit.world.stopping.aborted) kit.screen.clearLine();
    const counted = taken + refused === 1 ? '1 event' : `${taken + refused} events`;
    if (forwarder === undefined) kit.screen.note(`${counted}.`);
    else kit.screen.note(`${counted}: ${taken} taken, ${refused} not.`);
    if (kit.world.stopping.aborted) return 'interrupted';
    return refused > 0 ? 'partlyDone' : undefined;
  } finally {
    forwarder?.close();
  }
}

const position = (text: string): string => {
  if (/^[0-9]{1,15}$/.test(text)) return text;
  throw new InvalidArgumentError('It has to be a whole number.');
};
const collect = (text: string, before: string[] | undefined) => [...(before ?? []), text];

export function addListenCommand(webhooks: Command, { act }: Runner): void {
  webhooks
    .command('listen')
    .summary('events as they happen, handed to a server of yours')
    .description(
      'Events as they happen, one after the other; each is handed to a server of yours, signed as the platform signs its deliveries, and a break of the connection loses none. What your server refuses is told, and not sent again. Times are in UTC.',
    )
    .option('--forward-to <url>', 'where each event is sent by POST')
    .option('--events <types>', 'only these, such as transaction.*; may be repeated', words)
    .option('--merchant <id>', 'only events of this merchant')
    .addOption(
      new Option('--after <position>', 'begins behind this position, in place of now').argParser(
        position,
      ),
    )
    .addOption(new Option('--count <count>', 'ends after so many events').argParser(wholeNumber))
    .addOption(
      new Option('-H, --header <name:value>', 'goes with each forwarded event').argParser(collect),
    )
    .option('--forward-ca-file <file>', 'the certificate authority of your server, as PEM')
    .option('--print-json', 'shows the body of each event')
    .option('--print-secret', 'tells the signing secret, and ends')
    .addHelpText(
      'after',
      `
Examples:
  $ switchyard webhooks listen --forward-to http://localhost:3000/hooks
  $ switchyard webhooks listen --events 'transaction.*,batch.completed' --print-json`,
    )
    .action(act<ListenOptions>((kit, _args, options) => run(kit, options), { finishes: true }));
}
