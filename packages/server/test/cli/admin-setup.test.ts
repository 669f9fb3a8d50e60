// `switchyard admin setup` in production: from an empty database to a sale.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stringify } from 'yaml';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  type ProductionPlatform,
  startProductionPlatform,
} from '../support/processes/production-platform.ts';
import { until } from '../support/wait-for-result.ts';

let platform: ProductionPlatform;
let directory: string;
let file: string;
let secretsFile: string;

type Step = { step: string; result: string; name: string; id: string };

before(async () => {
  platform = await startProductionPlatform();
  directory = await mkdtemp(join(tmpdir(), 'switchyard-setup-'));
  file = join(directory, 'setup.yaml');
  secretsFile = join(directory, 'secrets.jsonl');
});
after(async () => {
  await platform.close();
  await rm(directory, { recursive: true, force: true });
});

const setupFile = (port: number) => ({
  operator: { name: 'Platform' },
  acquirer: {
    name: 'Banque du Nord',
    userDomain: 'banque-du-nord',
    administrator: 'ann@banque.example',
  },
  link: { name: 'host', host: '127.0.0.1', port, tls: false, institutionId: '123456' },
  merchant: { name: 'Café du Port', country: 'FR', mcc: '5814', timeZone: 'Europe/Paris' },
  contract: {
    acquirerMerchantId: '100000000000001',
    terminalIdRange: { from: 'CAFE0001', to: 'CAFE0099' },
    currencies: ['EUR'],
    captureModes: ['Immediate', 'Deferred'],
    clearCardData: 'Allowed',
  },
  store: { name: 'Quai 3' },
  device: {
    name: 'Counter 1',
    make: 'AXIUM',
    model: 'DX8000',
    family: 'axium',
    serialNumber: '70000001',
  },
  application: { name: 'Shop server' },
});

async function runSetup(): Promise<{ steps: Step[]; notes: string }> {
  const args = ['setup', '--file', file, '--secrets-out', secretsFile, '--json'];
  const { status, stdout, stderr } = await platform.runAdminCommand(args);
  assert.equal(status, 0, stderr);
  return { ...(JSON.parse(stdout) as { steps: Step[] }), notes: stderr };
}

const readSecrets = () =>
  readFileSync(secretsFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>);

test('one command leads from the operator to a sale that the acquirer has captured', async () => {
  await writeFile(file, stringify(setupFile(platform.host.port)));
  const { steps } = await runSetup();
  assert.deepEqual(
    steps.map(({ step, result, name }) => [step, result, name]),
    [
      ['operator', 'exists', 'Platform'],
      ['operator application', 'exists', platform.operator.clientId],
      ['acquirer', 'created', 'Banque du Nord'],
      ['administrator', 'created', 'ann@banque.example'],
      ['link', 'created', 'host'],
      ['approval of the link', 'created', `127.0.0.1:${platform.host.port}`],
      ['merchant', 'created', 'Café du Port'],
      ['contract', 'created', '100000000000001'],
      ['store', 'created', 'Quai 3'],
      ['terminal', 'created', 'AXIUM_DX8000-70000001'],
      ['device', 'created', 'Counter 1'],
      ['application', 'created', 'Shop server'],
    ],
  );
  assert.match(await platform.mail.mailTo('ann@banque.example', /links/), /https:\/\/localhost/);
  const [credentials] = readSecrets();
  assert.equal(credentials?.['resource'], 'application');
  const { clientId = '', clientSecret = '' } = credentials ?? {};
  const token = await platform.client.token('banque-du-nord', clientId, clientSecret);
  const storeId = steps.find(({ step }) => step === 'store')?.id;
  const sale = await until(async () => {
    const answer = await platform.client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: keyedSale({ storeId }),
    });
    return answer.status === 200 ? answer.body : undefined;
  }, 'the link');
  assert.equal(sale.state, 'Captured');
});

test('the command can run again, and changes nothing that exists', async () => {
  const secrets = readSecrets();
  const changed = setupFile(platform.host.port);
  await writeFile(file, stringify({ ...changed, merchant: { ...changed.merchant, mcc: '5812' } }));
  const { steps, notes } = await runSetup();
  assert.deepEqual([...new Set(steps.map(({ result }) => result))], ['exists']);
  assert.match(notes, /The merchant exists with other values of mcc; it was not changed\./);
  assert.deepEqual(readSecrets(), secrets);
});
