// Whole run: commands as users start them, each a process of its own.
// `webhooks endpoints|deliveries|test|resend|replay|trigger` over the whole platform.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { signedInCommandLine } from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';
import {
  answerWith,
  assertGenuine,
  type Receiver,
  receiver,
} from '../webhooks/webhook-receiver.ts';

type Line = Awaited<ReturnType<typeof signedInCommandLine>>;

describe('webhooks on the command line', () => {
  let setup: TestOrganization;
  let line: Line;
  let to: Receiver;
  before(async () => {
    setup = await createTestOrganization();
    line = await signedInCommandLine(setup);
    to = await receiver();
  });
  after(async () => {
    await to.stop();
    line.remove();
  });

  async function done(...args: string[]) {
    const ended = await line.run(['--json', 'webhooks', ...args]);
    assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}`);
    return ended.json();
  }

  const secretOf = (name: string) => readFileSync(join(line.folder, name), 'utf8').trim();
  let files = 0;

  async function makeEndpoint(events: string): Promise<{ id: string; secret: string }> {
    files += 1;
    const name = `hook-${files}.secret`;
    const made = await done(
      'endpoints',
      'create',
      to.url,
      '--events',
      events,
      '--secret-out',
      name,
    );
    assert.equal(made.secret, undefined);
    assert.equal(statSync(join(line.folder, name)).mode & 0o777, 0o600);
    return { id: made.endpointId, secret: secretOf(name) };
  }

  test('an endpoint is created, shown, edited, disabled, enabled, rotated and removed', async () => {
    const { id, secret } = await makeEndpoint('merchant.*,store.created');
    assert.match(secret, /^whsec_/);
    const edited = await done('endpoints', 'edit', id, '-s', 'description=orders');
    assert.deepEqual(edited.eventTypes, ['merchant.*', 'store.created']);
    assert.equal(edited.description, 'orders');
    assert.equal((await done('endpoints', 'disable', id)).disabledReason, 'Requested');
    assert.equal((await done('endpoints', 'enable', id)).status, 'Enabled');
    assert.equal((await done('endpoints', 'get', id)).description, 'orders');
    const renewed = await done('endpoints', 'rotate-secret', id, '--show-secret');
    assert.notEqual(renewed.secret, secret);
    const listed = await done('endpoints');
    assert.ok(listed.items.some(({ endpointId }: { endpointId: string }) => endpointId === id));
    assert.deepEqual(await done('endpoints', 'remove', id), { removed: id });
    assert.equal((await line.run(['webhooks', 'endpoints', 'get', id])).code, 5);
  });

  // Spec: QRPROV-43
  test('a test event is sent, its response is shown, and its delivery is listed and resent', async () => {
    const { id, secret } = await makeEndpoint('transaction.*');
    const before = to.received.length;
    const sent = await done('test', id, '--type', 'transaction.captured');
    assert.equal(sent.status, 'Delivered');
    await eventually('it arrived', () => to.received.length > before);
    const one = to.received.at(-1);
    assert.ok(one);
    assertGenuine(one, secret);
    assert.equal(one.id, sent.eventId);
    const again = await done('resend', sent.deliveryId);
    assert.equal(again.status, 'Delivered');
    assert.deepEqual(
      to.received.slice(-2).map(({ id: eventId, body }) => [eventId, body]),
      [
        [one.id, one.body],
        [one.id, one.body],
      ],
    );
    const list = await done('deliveries', '--endpoint', id, '--status', 'Delivered');
    assert.equal(list.items[0].deliveryId, sent.deliveryId);
    const detail = await done('deliveries', 'get', sent.deliveryId);
    assert.equal(detail.log.length, 2);
    const table = await line.run(['webhooks', 'deliveries', 'list', '--event', sent.eventId]);
    assert.match(table.stdout, /^DELIVERY +EVENT +STATUS +TRIES +LAST +NEXT\n.* 204 \(\d+ ms\)/);
  });

  test('a receiver that rejects an event ends with 6, and its response is shown', async () => {
    const { id } = await makeEndpoint('transaction.*');
    to.answer(answerWith(400, {}, 'no such\u001b[31m order'));
    const ended = await line.run(['webhooks', 'test', id]);
    to.answer(answerWith(204));
    assert.equal(ended.code, 6, ended.stderr);
    assert.match(ended.stdout, /last +400 \(\d+ ms\)/);
    assert.ok(!ended.stdout.includes('\u001b[31m'));
    const begun = await done('test', id, '--no-wait');
    assert.equal(typeof begun.deliveryId, 'string');
  });

  test('events of a time range are replayed', async () => {
    const from = new Date(Date.now() - 60_000).toISOString();
    const { id } = await makeEndpoint('merchant.*');
    const begun = await done('replay', id, '--from', from);
    assert.equal(begun.endpointId, id);
    assert.ok(begun.toPosition >= begun.afterPosition);
    const created = () => to.received.filter(({ body }) => body.includes('"merchant.created"'));
    await eventually('an event for each merchant of the organisation', () => created().length >= 2);
    const faulty = await line.run(['webhooks', 'replay', id, '--from', 'yesterday']);
    assert.equal(faulty.code, 6);
  });

  test('outside the demo a trigger sends a test event to the subscribed endpoints', async () => {
    const withoutEndpoint = await line.run(['webhooks', 'trigger', 'application.created']);
    assert.equal(withoutEndpoint.code, 5);
    assert.match(withoutEndpoint.stderr, /No enabled endpoint subscribes to application\.created/);
    const { id } = await makeEndpoint('user.*');
    const reported = await done('trigger', 'user.created');
    assert.equal(reported.happened, false);
    assert.deepEqual(
      reported.items.map(({ endpointId, status }: Record<string, string>) => [endpointId, status]),
      [[id, 'Delivered']],
    );
    to.answer(answerWith(503));
    const refused = await line.run(['webhooks', 'trigger', 'user.updated', '--endpoint', id]);
    to.answer(answerWith(204));
    assert.equal(refused.code, 6, refused.stderr);
    const unknown = await line.run(['webhooks', 'trigger', 'user.nothing']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /webhooks events/);
  });

  test('event types are listed and filtered by a pattern', async () => {
    const { items } = await done('events', 'transaction.*');
    assert.ok(items.length >= 10);
    assert.ok(items.every(({ type }: { type: string }) => type.startsWith('transaction.')));
    assert.equal((await line.run(['webhooks', 'events', 'nothing.*'])).code, 2);
  });
});

describe('webhooks trigger in the demo', () => {
  let setup: TestOrganization;
  let line: Line;
  before(async () => {
    setup = await createTestOrganization();
    line = await signedInCommandLine(setup);
    const { merchantId } = setup.merchant;
    const { clientId, clientSecret } = await setup.platform.identity.createApplication({
      organizationId: setup.organizationId,
      userDomainId: setup.realm,
      name: 'merchant',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['Merchant'],
      securityFlows: ['ClientCredentials'],
    });
    const facts = {
      baseUrl: setup.settings.baseUrl,
      userDomainId: setup.realm,
      caFile: join(line.folder, 'ca.pem'),
      applications: {
        acquirer: { clientId: line.clientId, clientSecret: line.clientSecret },
        merchant: { clientId, clientSecret },
      },
    };
    line.file('demo.json', JSON.stringify(facts));
    const ended = await line.run(['login', '--demo', line.folder], { env: unset });
    assert.equal(ended.code, 0, ended.stderr);
  });
  after(() => line.remove());

  /** The saved profile is used without the variable. */
  const unset = { SWITCHYARD_CLI_URL: '' };

  // Spec: QRPROV-43
  test('every event with a demo trigger is triggered', async (context) => {
    const { items } = (await line.run(['--json', 'webhooks', 'events'], { env: unset })).json() as {
      items: { type: string; demoTrigger: string }[];
    };
    // QR payment events need a provider; another test covers them.
    const types = items
      .filter(({ type, demoTrigger }) => demoTrigger !== '' && !type.startsWith('qr.'))
      .map(({ type }) => type);
    assert.ok(types.length >= 20, types.join(' '));
    const began = performance.now();
    for (const type of types) {
      const ended = await line.run(['--json', 'webhooks', 'trigger', type], { env: unset });
      assert.equal(ended.code, 0, `${type}: ${ended.stderr}`);
      const reported = ended.json();
      assert.deepEqual([reported.happened, reported.type], [true, type]);
      const path = `/events/v1?after=${reported.position - 1}&limit=1`;
      const feed = await setup.client.call('GET', path, { token: setup.acquirerToken });
      assert.equal(feed.body.items[0].eventId, reported.eventId);
    }
    context.diagnostic(`${types.length} events, ${Math.round(performance.now() - began)} ms`);
  });

  test('an error of a trigger is reported without a wait', async () => {
    const facts = JSON.parse(readFileSync(join(line.folder, 'demo.json'), 'utf8'));
    const { merchant: _merchant, ...applications } = facts.applications;
    line.file('demo.json', JSON.stringify({ ...facts, applications }));
    const ended = await line.run(['webhooks', 'trigger', 'transaction.captured'], { env: unset });
    line.file('demo.json', JSON.stringify(facts));
    assert.equal(ended.code, 2, ended.stderr);
    assert.match(ended.stderr, /no application “merchant”/);
  });

  test('--test sends a test event in the demo too', async () => {
    const env = unset;
    const ended = await line.run(['webhooks', 'trigger', 'store.created', '--test'], { env });
    assert.equal(ended.code, 5, ended.stderr);
  });
});
