/** Deliveries of webhooks: what became of each event on its way to each endpoint, and once more. */

import { setTimeout as pause } from 'node:timers/promises';
import { defined, type WebhookDelivery, type WebhookDeliveryDetail } from '@switchyard/contract';
import { type Command, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, type Row, showList, showThing } from '../../command-line/list-output.ts';
import type { Column } from '../../output/table.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';

export const endpointsPath = '/webhooks/v1/endpoints';
export const deliveriesPath = '/webhooks/v1/deliveries';

type FindOptions = ListOptions & {
  readonly endpoint?: string;
  readonly status?: string;
  readonly event?: string;
};
type OnceOptions = { readonly wait: boolean };

const lookMs = 200;

/** What the receiver said last: a status, or why there is none. */
export function lastOf(delivery: Pick<WebhookDelivery, 'lastAttempt'>): string {
  const { lastAttempt } = delivery;
  if (lastAttempt === undefined) return '';
  const { status, fault, ms } = lastAttempt;
  return `${status ?? fault} (${ms} ms)`;
}

const columns: readonly Column<Row>[] = [
  column('deliveryId', 'DELIVERY', true),
  column('type', 'EVENT'),
  column('status', 'STATUS', true),
  column('attempts', 'TRIES', true),
  { title: 'LAST', of: (row) => lastOf(row as unknown as WebhookDelivery) },
  column('nextAttemptAt', 'NEXT'),
];

export const deliveryPath = (id: string): string => `${deliveriesPath}/${encodeURIComponent(id)}`;

/** Waits until it was tried, or the time of a request has passed. */
export async function settled(kit: Kit, begun: WebhookDelivery): Promise<WebhookDelivery> {
  const { clock, stopping } = kit.world;
  const until = clock.now() + kit.globals.timeout * 1000;
  let delivery = begun;
  while (delivery.lastAttempt === undefined || delivery.updatedAt === begun.updatedAt) {
    if (clock.now() >= until || stopping.aborted) break;
    await pause(lookMs, undefined, { signal: stopping }).catch(() => undefined);
    const { body } = await kit.api().call<WebhookDelivery>('GET', deliveryPath(begun.deliveryId));
    delivery = body;
  }
  return delivery;
}

export function outcomeOf(deliveries: readonly WebhookDelivery[]): ExitName | undefined {
  const taken = deliveries.filter(({ status }) => status === 'Delivered').length;
  if (taken === deliveries.length) return undefined;
  return taken > 0 ? 'partlyDone' : 'refused';
}

export function tellDeliveries(
  { screen }: Kit,
  deliveries: readonly WebhookDelivery[],
  facts: Record<string, unknown> = {},
): void {
  screen.result({ ...facts, items: deliveries }, () =>
    screen.table(columns, deliveries as unknown as Row[]),
  );
}

/** One delivery that was asked for, and what became of its next try. */
async function once(
  kit: Kit,
  path: string,
  body: unknown,
  { wait }: OnceOptions,
): Promise<ExitName | undefined> {
  const { body: begun } = await kit.api().call<WebhookDelivery>('POST', path, { body });
  const delivery = wait ? await settled(kit, begun) : begun;
  kit.screen.result(delivery, () => {
    const { deliveryId, eventId, type, status, attempts } = delivery;
    const answer = delivery.lastAttempt?.answer || undefined;
    const told = { deliveryId, eventId, type, status, attempts, last: lastOf(delivery), answer };
    return kit.screen.members(told);
  });
  return wait ? outcomeOf([delivery]) : undefined;
}

function showDelivery({ screen }: Kit, delivery: WebhookDeliveryDetail): void {
  const { log, body, lastAttempt: _last, ...facts } = delivery;
  const tries: readonly Column<(typeof log)[number]>[] = [
    { title: 'TRIED', of: ({ at }) => at, whole: true },
    { title: 'STATUS', of: ({ status, fault }) => status ?? fault, whole: true },
    { title: 'MS', of: ({ ms }) => ms, whole: true },
    { title: 'ANSWER', of: ({ answer }) => answer },
  ];
  screen.result(delivery, () => {
    const shown = log.length === 0 ? '' : `\n${screen.table(tries, log)}`;
    return `${screen.members({ ...facts, body })}${shown}`;
  });
}

function addDeliveryReads(webhooks: Command, { act }: Runner): void {
  const deliveries = webhooks
    .command('deliveries')
    .description('What became of events on their way to endpoints.');
  listOptions(deliveries.command('list', { isDefault: true }))
    .description('Lists deliveries, the newest first.')
    .option('--endpoint <id>', 'to this endpoint')
    .addOption(
      new Option('--status <status>', 'how they stand').choices(['Pending', 'Delivered', 'Failed']),
    )
    .option('--event <id>', 'of this event')
    .action(
      act<FindOptions>(async (kit, _args, { endpoint, status, event, ...list }) => {
        const query = { endpointId: endpoint, status, eventId: event };
        await showList(kit, deliveriesPath, query, list, columns);
        return undefined;
      }),
    );
  deliveries
    .command('get <deliveryId>')
    .description('Shows a delivery with its tries and what the receiver answered.')
    .action(
      act(async (kit, [id = '']) => {
        showDelivery(
          kit,
          (await kit.api().call<WebhookDeliveryDetail>('GET', deliveryPath(id))).body,
        );
        return undefined;
      }),
    );
}

export function addDeliveryCommands(webhooks: Command, runner: Runner): void {
  const { act } = runner;
  addDeliveryReads(webhooks, runner);
  webhooks
    .command('resend <deliveryId>')
    .description('Sends a delivery again, under the same id and with the same bytes.')
    .option('--no-wait', 'does not wait for what the receiver says')
    .action(
      act<OnceOptions>((kit, [id = ''], options) =>
        once(kit, `${deliveryPath(id)}/resend`, undefined, options),
      ),
    );
  webhooks
    .command('test <endpointId>')
    .description('Sends a test event to an endpoint, and tells what it answered.')
    .option('--type <event>', 'as an event of this type')
    .option('--no-wait', 'does not wait for what the receiver says')
    .action(
      act<OnceOptions & { type?: string }>((kit, [id = ''], { type, ...options }) => {
        const path = `${endpointsPath}/${encodeURIComponent(id)}/test`;
        return once(kit, path, defined({ type }), options);
      }),
    );
  webhooks
    .command('replay <endpointId>')
    .description(
      'Sends events once more: of a span of time, or without one all since the last that the endpoint took.',
    )
    .option('--from <time>', 'of this time and later')
    .option('--to <time>', 'before this time; left out: now')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard webhooks replay 0198… --from 2026-03-01T00:00:00Z',
    )
    .action(
      act<{ from?: string; to?: string }>(async (kit, [id = ''], { from, to }) => {
        const path = `${endpointsPath}/${encodeURIComponent(id)}/replay`;
        const body = { ...(from && { from }), ...(to && { to }) };
        showThing(kit, (await kit.api().call('POST', path, { body })).body);
        return undefined;
      }),
    );
}
