/** `webhooks trigger`: makes an event happen in the demo; elsewhere it is sent to the endpoints as a test. */
import type { WebhookDelivery, WebhookEndpoint } from '@switchyard/contract';
import { eventDefinitions, eventTypes, isEventType, matchesEventType } from '@switchyard/contract';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { follow } from '../../command-line/follow-event-stream.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { demoProfile } from '../../session/profiles.ts';
import { demoTerminal } from '../../webhooks/demo-device-session.ts';
import type { FeedEvent } from '../../webhooks/event-forwarder.ts';
import type { Recipe } from '../../webhooks/event-trigger.ts';
import { recipes } from '../../webhooks/event-triggers.ts';
import { endpointsPath, outcomeOf, settled, tellDeliveries } from './webhook-delivery-commands.ts';

type TriggerOptions = { readonly test?: boolean; readonly endpoint?: string };

/** The stream is open before anything is done, so what happens cannot be missed. */
async function happened(kit: Kit, type: string, recipe: Recipe, file: string): Promise<FeedEvent> {
  const api = (application: string) =>
    kit.sessionOf(`demo-${application}`, demoProfile(file, application)).api;
  const terminal = demoTerminal(kit, file);
  const actors = {
    merchant: api('merchant'),
    acquirer: api('acquirer'),
    terminal: terminal.open,
    clock: kit.world.clock,
  };
  const { timeout } = kit.globals;
  const failed = new AbortController();
  const ends = [kit.world.stopping, failed.signal, AbortSignal.timeout(timeout * 1000)];
  const world = { ...kit.world, stopping: AbortSignal.any(ends) };
  let subject: Promise<string> | undefined;
  const onOpen = () => {
    subject = recipe.run(actors);
    // Nothing will come then; its fault is told below.
    subject.catch(() => failed.abort());
  };
  const options = { query: { types: type }, onOpen };
  try {
    for await (const { data } of follow({ ...kit, world }, '/events/v1', options)) {
      const id = await subject;
      if (id !== undefined && data.includes(id)) return JSON.parse(data) as FeedEvent;
    }
    await subject;
  } finally {
    terminal.close();
  }
  if (kit.world.stopping.aborted) return fail('interrupted', 'Interrupted.');
  return fail('unreachable', `${type} did not come within ${timeout} s.`);
}

async function takers(kit: Kit, type: string, named: string | undefined) {
  if (named !== undefined) return [named];
  const found: string[] = [];
  for await (const endpoint of kit.api().list<WebhookEndpoint>(endpointsPath)) {
    const takes = endpoint.status === 'Enabled' && matchesEventType(endpoint.eventTypes, type);
    if (takes) found.push(endpoint.endpointId);
  }
  return found.length > 0
    ? found
    : fail(
        'notFound',
        `No endpoint takes ${type}.`,
        'Make one with: switchyard webhooks endpoints create <url> --events <types>',
        'What really happens is seen by: switchyard webhooks listen',
      );
}

async function tested(kit: Kit, type: string, named: string | undefined) {
  const all: WebhookDelivery[] = [];
  for (const endpointId of await takers(kit, type, named)) {
    const path = `${endpointsPath}/${encodeURIComponent(endpointId)}/test`;
    const { body } = await kit.api().call<WebhookDelivery>('POST', path, { body: { type } });
    all.push(body);
  }
  return Promise.all(all.map((delivery) => settled(kit, delivery)));
}

async function trigger(
  kit: Kit,
  type: string,
  { test = false, endpoint }: TriggerOptions,
): Promise<ExitName | undefined> {
  if (!isEventType(type)) {
    fail('usage', `No event is called ${type}.`, 'They are listed by: switchyard webhooks events');
  }
  const { secret } = kit.session().profile;
  const isReal = !test && endpoint === undefined && secret.kind === 'Demo';
  const recipe = recipes[type];
  if (isReal && recipe !== undefined) {
    kit.screen.note(`Making it happen: ${recipe.does}.`);
    const event = await happened(kit, type, recipe, secret.file);
    const { eventId, position, data } = event;
    const { members } = kit.screen;
    kit.screen.result(
      { happened: true, ...event },
      () => `${members({ happened: type, eventId, position })}\n${members(data)}`,
    );
    return undefined;
  }
  if (isReal) kit.screen.note('There is no recipe that makes it happen; it is sent as a test.');
  const deliveries = await tested(kit, type, endpoint);
  tellDeliveries(kit, deliveries, { happened: false });
  return outcomeOf(deliveries);
}

type EventRow = { type: string; inDemo: string; description: string };

function listEvents({ screen }: Kit, pattern: string | undefined): undefined {
  const rows: EventRow[] = eventTypes
    .filter((type) => pattern === undefined || matchesEventType([pattern], type))
    .map((type) => ({
      type,
      inDemo: recipes[type]?.does ?? '',
      description: eventDefinitions.get(type)?.description ?? '',
    }));
  if (rows.length === 0) fail('usage', `No event is called ${pattern}.`);
  const columns = [
    { title: 'TYPE', of: (row: EventRow) => row.type, whole: true },
    { title: 'WHEN', of: (row: EventRow) => row.description },
    { title: 'TRIGGER IN THE DEMO', of: (row: EventRow) => row.inDemo },
  ];
  screen.result({ items: rows }, () => screen.table(columns, rows));
  return undefined;
}

export function addTriggerCommands(webhooks: Command, { act }: Runner): void {
  webhooks
    .command('trigger <event>')
    .summary('makes an event happen in the demo, or sends it as a test')
    .description(
      'Makes an event happen: in the demo by what really causes it, such as a sale; elsewhere, and where nothing in the demo does, as a test to the endpoints that take it.',
    )
    .option('--test', 'as a test in the demo too')
    .option('--endpoint <id>', 'as a test to this endpoint alone')
    .addHelpText('after', '\nExample:\n  $ switchyard webhooks trigger transaction.refunded')
    .action(act<TriggerOptions>((kit, [type = ''], options) => trigger(kit, type, options)));
  webhooks
    .command('events [pattern]')
    .description('The types of events, and which of them `trigger` makes happen in the demo.')
    .addHelpText('after', "\nExample:\n  $ switchyard webhooks events 'transaction.*'")
    .action(act(async (kit, [pattern]) => listEvents(kit, pattern)));
}
