/** `switchyard webhooks trigger`: triggers an event in the demo, or sends it to endpoints as a test event. */
import type { WebhookDelivery, WebhookEndpoint } from '@switchyard/contract';
import { eventDefinitions, eventTypes, isEventType, matchesEventType } from '@switchyard/contract';
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { followEventStream } from '../../command-line/follow-event-stream.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { demoProfile } from '../../session/profiles.ts';
import { createDemoDeviceSession } from '../../webhooks/demo-device-session.ts';
import type { FeedEvent } from '../../webhooks/event-forwarder.ts';
import type { EventTrigger } from '../../webhooks/event-trigger.ts';
import { eventTriggers } from '../../webhooks/event-triggers.ts';
import {
  endpointsPath,
  exitNameOfDeliveries,
  printDeliveries,
  waitForAttempt,
} from './webhook-delivery-commands.ts';

type TriggerOptions = { readonly test?: boolean; readonly endpoint?: string };

/** Opens the event stream before the trigger runs, so that the event cannot be missed. */
async function triggerAndReceive(
  context: CommandContext,
  type: string,
  eventTrigger: EventTrigger,
  file: string,
): Promise<FeedEvent> {
  const api = (application: string) =>
    context.createSession(`demo-${application}`, demoProfile(file, application)).api;
  const terminal = createDemoDeviceSession(context, file);
  const clients = {
    merchant: api('merchant'),
    acquirer: api('acquirer'),
    terminal: terminal.open,
    clock: context.environment.clock,
  };
  const { timeout } = context.globals;
  const failed = new AbortController();
  const signals = [
    context.environment.stopping,
    failed.signal,
    AbortSignal.timeout(timeout * 1000),
  ];
  const environment = { ...context.environment, stopping: AbortSignal.any(signals) };
  let subject: Promise<string> | undefined;
  const onOpen = () => {
    subject = eventTrigger.run(clients);
    // If the trigger fails, no event comes; `await subject` below throws its error.
    subject.catch(() => failed.abort());
  };
  const options = { query: { types: type }, onOpen };
  try {
    for await (const { data } of followEventStream(
      { ...context, environment },
      '/events/v1',
      options,
    )) {
      const id = await subject;
      if (id !== undefined && data.includes(id)) return JSON.parse(data) as FeedEvent;
    }
    await subject;
  } finally {
    terminal.close();
  }
  if (context.environment.stopping.aborted) return fail('interrupted', 'Interrupted.');
  return fail(
    'unreachable',
    `The event ${type} did not arrive within ${timeout} s. Use --timeout to wait longer.`,
  );
}

async function findEndpoints(
  context: CommandContext,
  type: string,
  requestedEndpointId: string | undefined,
) {
  if (requestedEndpointId !== undefined) return [requestedEndpointId];
  const endpointIds: string[] = [];
  for await (const endpoint of context.api().list<WebhookEndpoint>(endpointsPath)) {
    const isSubscribed =
      endpoint.status === 'Enabled' && matchesEventType(endpoint.eventTypes, type);
    if (isSubscribed) endpointIds.push(endpoint.endpointId);
  }
  return endpointIds.length > 0
    ? endpointIds
    : fail(
        'notFound',
        `No enabled endpoint subscribes to ${type}.`,
        'Create one: switchyard webhooks endpoints create <url> --events <types>',
        'To see real events: switchyard webhooks listen',
      );
}

async function sendTestEvents(
  context: CommandContext,
  type: string,
  requestedEndpointId: string | undefined,
) {
  const all: WebhookDelivery[] = [];
  for (const endpointId of await findEndpoints(context, type, requestedEndpointId)) {
    const path = `${endpointsPath}/${encodeURIComponent(endpointId)}/test`;
    const { body } = await context.api().call<WebhookDelivery>('POST', path, { body: { type } });
    all.push(body);
  }
  return Promise.all(all.map((delivery) => waitForAttempt(context, delivery)));
}

async function trigger(
  context: CommandContext,
  [type = '']: string[],
  { test = false, endpoint }: TriggerOptions,
): Promise<ExitName | undefined> {
  if (!isEventType(type)) {
    fail(
      'usage',
      `Unknown event type: ${type}.`,
      'List the event types: switchyard webhooks events',
    );
  }
  const { secret } = context.session().profile;
  const isDemoTrigger = !test && endpoint === undefined && secret.kind === 'Demo';
  const eventTrigger = eventTriggers[type];
  if (isDemoTrigger && eventTrigger !== undefined) {
    context.output.printNote(`Triggering the event: ${eventTrigger.description}.`);
    const event = await triggerAndReceive(context, type, eventTrigger, secret.file);
    const { eventId, position, data } = event;
    const { formatMembers } = context.output;
    context.output.printResult(
      { happened: true, ...event },
      () => `${formatMembers({ happened: type, eventId, position })}\n${formatMembers(data)}`,
    );
    return undefined;
  }
  if (isDemoTrigger)
    context.output.printNote('The demo cannot trigger this event; it is sent as a test event.');
  const deliveries = await sendTestEvents(context, type, endpoint);
  printDeliveries(context, deliveries, { happened: false });
  return exitNameOfDeliveries(deliveries);
}

type EventTypeRow = { type: string; demoTrigger: string; description: string };

async function listEvents({ output }: CommandContext, [pattern]: string[]): Promise<void> {
  const events: EventTypeRow[] = eventTypes
    .filter((type) => pattern === undefined || matchesEventType([pattern], type))
    .map((type) => ({
      type,
      demoTrigger: eventTriggers[type]?.description ?? '',
      description: eventDefinitions.get(type)?.description ?? '',
    }));
  if (events.length === 0)
    fail(
      'usage',
      `No event type matches ${pattern}. Run the command without a pattern to list all.`,
    );
  const columns = [
    { title: 'TYPE', value: (row: EventTypeRow) => row.type, neverTruncate: true },
    { title: 'WHEN', value: (row: EventTypeRow) => row.description },
    { title: 'TRIGGER IN THE DEMO', value: (row: EventTypeRow) => row.demoTrigger },
  ];
  output.printResult({ items: events }, () => output.formatTable(columns, events));
}

export const triggerCommands: readonly CommandDefinition[] = [
  {
    command: 'trigger <event>',
    summary: 'trigger an event in the demo, or send a test event',
    description:
      'Triggers an event. In the demo it sends the requests that cause the event, such as a sale. On other platforms, and for events that the demo cannot trigger, it sends a test event to the endpoints that subscribe to it.',
    options: [
      option('--test', 'send a test event, also in the demo'),
      option('--endpoint <id>', 'send a test event to this endpoint only'),
    ],
    run: trigger,
    examples: ['switchyard webhooks trigger transaction.refunded'],
  },
  {
    command: 'events [pattern]',
    description:
      'Lists the event types. For each type it shows the requests that “webhooks trigger” sends in the demo to cause the event.',
    run: listEvents,
    examples: ["switchyard webhooks events 'transaction.*'"],
  },
];
