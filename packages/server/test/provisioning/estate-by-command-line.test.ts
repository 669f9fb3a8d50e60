// Whole run: commands as users start them, each a process of its own.
// The estate from one file: an organisation signs up, loads its estate and sells, with the command
// line only.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { otpCodeAt } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  type ProductionPlatform,
  startProductionPlatform,
} from '../support/processes/production-platform.ts';
import { type CommandLine, openCommandLine } from '../support/processes/switchyard-command.ts';
import { until } from '../support/wait-for-result.ts';

const password = 'nine tills under one long roof';
const email = 'bea@banque.example';
const stepMs = 30_000;

const estateOf = (port: number) => `format: switchyard-estate/1
acquirerLinks:
  - { externalId: host, name: host, host: 127.0.0.1, port: ${port}, tls: false, institutionId: "123456" }
merchants:
  - externalId: cafe
    name: Café du Port
    country: FR
    mcc: "5814"
    timeZone: Europe/Paris
    acquirerContracts:
      - acquirerLink: host
        acquirerMerchantId: "100000000000001"
        terminalIdRange: { from: CAFE0001, to: CAFE0099 }
        currencies: [EUR]
        captureModes: [Immediate, Deferred]
        clearCardData: Allowed
    stores:
      - externalId: quai
        name: Quai 3
        logicalDevices:
          - { externalId: c1, name: Counter 1, physicalDevices: [AXIUM_DX8000-70000002] }
        pointsOfSale:
          - { externalId: till, name: Till }
    configurations:
      - { service: Receipts, values: { footer: À bientôt } }
physicalDevices:
  - { serialNumber: "70000002", make: AXIUM, model: DX8000, family: axium, merchant: cafe }
services:
  - name: Receipts
    domain: Printing
    parameterSchema:
      type: object
      properties: { footer: { type: string }, copies: { type: integer } }
    defaults: { footer: Thank you, copies: 1 }
packages:
  - { name: Basics, services: [Receipts] }
subscriptions:
  - package: Basics
activations:
  - { service: Receipts }
`;

describe('an estate from one file', { timeout: 300_000 }, () => {
  let platform: ProductionPlatform;
  let line: CommandLine;
  let userDomainId: string;
  before(async () => {
    platform = await startProductionPlatform();
    line = openCommandLine();
  });
  after(async () => {
    line.remove();
    await platform.close();
  });

  /** Runs the command and asserts success. */
  async function done(args: string[], options: Parameters<CommandLine['run']>[1] = {}) {
    const ended = await line.run([...args, '--json'], options);
    assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
    return ended.stdout === '' ? {} : ended.json();
  }

  const post = (path: string, body: object, profile: string) =>
    done(['api', 'POST', path, '--input', '-', '--profile', profile], {
      stdin: JSON.stringify(body),
    });

  const address = (userDomain: string) => [
    '--url',
    platform.baseUrl,
    '--ca-file',
    platform.caFile,
    '--user-domain',
    userDomain,
  ];

  test('the operator approves, and the first administrator signs in', async () => {
    const { operator, mail } = platform;
    const asOperator = ['--client-id', operator.clientId, '--as', 'operator'];
    await done(['login', ...address(operator.userDomainId), ...asOperator], {
      env: { SWITCHYARD_CLI_CLIENT_SECRET: operator.clientSecret },
    });
    const signUps = '/onboarding/v1/sign-ups';
    const person = { email, givenName: 'Bea', familyName: 'Martin', country: 'FR' };
    const form = { organizationName: 'Banque du Sud', persona: 'Acquirer', ...person };
    await post(signUps, form, 'operator');
    const { items } = await done(['api', 'GET', signUps, '--query', 'status=Pending']);
    await post(`${signUps}/${items[0].signUpId}/approve`, {}, 'operator');

    const invitation = await mail.mailTo(email, /\/links\//);
    const link = /\/links\/([\w-]{43})/.exec(invitation)?.[1];
    const activation = `/onboarding/v1/activations/${link}`;
    const activated = await post(activation, { password }, 'operator');
    const { secret } = activated.oneTimePassword;
    userDomainId = activated.userDomainId;
    const code = (later = 0) => otpCodeAt(secret, Date.now() + later);
    await post(`${activation}/otp`, { code: code() }, 'operator');
    const asPerson = ['--username', email, '--as', 'bea'];
    const stdin = `${password}\n${code(stepMs)}\n`;
    const loginResult = await done(['login', ...address(userDomainId), ...asPerson], { stdin });
    assert.equal(loginResult.name, email);
  });

  // Spec: ONB-6
  test('the file is applied, and changes nothing the second time', async () => {
    const file = line.file('estate.yaml', estateOf(platform.host.port));
    const apply = ['estate', 'import', file, '--secrets-out', 'secrets.jsonl', '--profile', 'bea'];
    const first = await done(apply);
    assert.deepEqual(first.failures, []);
    assert.ok(first.created >= 12, JSON.stringify(first));
    const second = await done(apply);
    assert.deepEqual(
      [second.created, second.changed, second.failures],
      [0, 0, []],
      JSON.stringify(second),
    );
  });

  const differences = async () => {
    await done(['estate', 'export', '--out', 'exported.yaml', '--profile', 'bea']);
    const diff = await line.run([
      'estate',
      'diff',
      'exported.yaml',
      '--exit-code',
      '--profile',
      'bea',
    ]);
    const applied = await done(['estate', 'diff', 'estate.yaml', '--profile', 'bea']);
    return [diff.code, applied.create, applied.change];
  };

  test('the operator approves its acquirer link, before and after which no file differs', async () => {
    assert.deepEqual(await differences(), [0, 0, 0]);
    const approvals = '/provisioning/v2/acquirer-link-approvals';
    const { items } = await done(['api', 'GET', approvals, '--profile', 'operator']);
    const [{ acquirerLinkId, host, port }] = items;
    assert.deepEqual([host, port], ['127.0.0.1', platform.host.port]);
    await post(`${approvals}/${acquirerLinkId}/approve`, { host, port }, 'operator');
    assert.deepEqual(await differences(), [0, 0, 0]);
    const exported = readFileSync(join(line.folder, 'exported.yaml'), 'utf8');
    assert.match(exported, /acquirerLinks:/);
    assert.doesNotMatch(exported, /approval:|claimStatus|PendingApproval/);
  });

  // Spec: ONB-6
  test('a till of it takes a sale, and reads it back', async () => {
    const secrets = readFileSync(join(line.folder, 'secrets.jsonl'), 'utf8').trimEnd().split('\n');
    const till = secrets
      .map((row) => JSON.parse(row))
      .find(({ resource }) => resource.startsWith('pointOfSale'));
    await done(['login', ...address(userDomainId), '--client-id', till.clientId, '--as', 'till'], {
      env: { SWITCHYARD_CLI_CLIENT_SECRET: till.clientSecret },
    });
    const transactions = '/payment/v1/transactions';
    const available = ['api', 'GET', `${transactions}/technical/isAvailable`, '--profile', 'till'];
    await until(async () => (await done(available)).available || undefined, 'the link', 60_000);
    const sale = keyedSale({ clientTransactionId: randomUUID() });
    const sold = await post(`${transactions}/process`, sale, 'till');
    assert.deepEqual([sold.state, sold.approved], ['Captured', true]);
    const path = `${transactions}/${sold.transactionId}`;
    const read = await done(['api', 'GET', path, '--profile', 'till']);
    assert.deepEqual([read.state, read.capturedAmount], ['Captured', 1234]);
  });

  test('its audit is unbroken', async () => {
    const { code, stdout, stderr } = await line.run(['audit', 'verify', '--profile', 'bea']);
    assert.equal(code, 0, stdout + stderr);
  });
});
