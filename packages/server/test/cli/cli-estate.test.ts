// Whole run: commands as users start them, each a process of its own.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { signedInCommandLine } from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { estateNames, estateYaml, yamlWithManyLinks } from './estate-yaml.ts';

type Line = Awaited<ReturnType<typeof signedInCommandLine>>;

let setup: TestOrganization;
let line: Line;
before(async () => {
  setup = await createTestOrganization();
  line = await signedInCommandLine(setup);
});
after(() => line.remove());

const nothing = { created: 0, changed: 0, removed: 0, failures: [] };
const countsOf = (json: Record<string, unknown>) => ({
  created: json['created'],
  changed: json['changed'],
  removed: json['removed'],
  failures: json['failures'],
});

describe('an estate of one file', () => {
  const names = estateNames();
  const yaml = estateYaml(names);

  test('an import with new secrets needs --secrets-out before anything is sent', async () => {
    const ended = await line.run(['estate', 'import', line.file('e.yaml', yaml)]);
    assert.equal(ended.code, 2, ended.stderr);
    assert.match(ended.stderr, /3 of the resources .* --secrets-out/);
    const { json } = await line.run(['api', 'GET', '/provisioning/v2/merchants', '--json']);
    assert.ok(!JSON.stringify(json()).includes('Butter'));
  });

  test('a dry run shows the changes and applies none', async () => {
    const ended = await line.run(['estate', 'import', line.file('e.yaml', yaml), '--dry-run']);
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stdout, /^\+ store bread\/martyrs$/m);
    assert.match(ended.stdout, /^\+ merchant cake\n.*\n {4}name: Cake \\u\{9b\}31m & Co$/m);
    assert.doesNotMatch(ended.stdout.replaceAll('\n', ''), /\p{Cc}/u);
    assert.equal((await line.run(['estate', 'diff', 'e.yaml', '--exit-code'])).code, 8);
  });

  // Spec: PROV-72
  test('a first import creates the estate, and a second one changes nothing', async () => {
    const file = line.file('e.yaml', yaml);
    const all = ['estate', 'import', file, '--secrets-out', 'secrets.jsonl', '--json'];
    const first = await line.run(all);
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.equal(first.json().created, 23);
    assert.deepEqual(first.json().failures, []);
    const second = await line.run(all);
    assert.equal(second.code, 0, second.stderr);
    assert.deepEqual(countsOf(second.json()), nothing);
    // The set-up created merchants and links that the file does not have.
    const diff = await line.run(['estate', 'diff', file, '--json']);
    const { create, change, changes } = diff.json();
    assert.deepEqual([create, change], [0, 0], diff.stdout);
    assert.ok(changes.every(({ action }: { action: string }) => action === 'remove'));
  });

  test('secrets are written once to a file for its owner and never printed', async () => {
    const file = join(line.folder, 'secrets.jsonl');
    assert.equal(statSync(file).mode & 0o077, 0);
    const secrets = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((row) => JSON.parse(row));
    assert.deepEqual(secrets.map(({ resource }) => resource.split(' ')[0]).sort(), [
      'application',
      'pointOfSale',
      'service',
    ]);
    const till = secrets.find(({ resource }) => resource.startsWith('pointOfSale'));
    assert.match(await setup.client.token(setup.realm, till.clientId, till.clientSecret), /^ey/);
  });

  // Spec: PROV-72
  test('exports in YAML and JSON are the same each time and show no difference', async () => {
    for (const name of ['one.yaml', 'two.yaml', 'three.json']) {
      const ended = await line.run(['estate', 'export', '--out', name]);
      assert.equal(ended.code, 0, ended.stderr);
    }
    const read = (name: string) => readFileSync(join(line.folder, name), 'utf8');
    assert.equal(read('one.yaml'), read('two.yaml'));
    assert.doesNotMatch(read('one.yaml'), /createdAt|updatedAt|clientSecret|password/);
    for (const name of ['one.yaml', 'three.json']) {
      const diff = await line.run(['estate', 'diff', name, '--exit-code']);
      assert.equal(diff.code, 0, diff.stdout);
    }
    const part = await line.run(['estate', 'export', '--merchant', 'bread', '--json']);
    const { only, merchants, users, services } = part.json();
    assert.deepEqual(
      [only, merchants.length, users.length, services],
      [['bread'], 1, 1, undefined],
    );
  });

  test('changed resources are updated, missing ones are removed only with --prune and a confirmation', async () => {
    const changed = yaml
      .replace('name: Rue des Martyrs', 'name: Rue Lepic')
      .replace(`[AXIUM_DX8000-${names.suffix}a]`, `[TETRA_LANE3000-${names.suffix}c]`)
      .replace(`, TETRA_LANE3000-${names.suffix}c]`, ']')
      .replace('values: { points: 3 }', 'values: { points: 4 }')
      .replace('account: B-2', 'account: B-3')
      .replace('status: deactivated', 'status: activated')
      .replace(/ {2}- \{ externalId: cake.*\n/, '')
      .replace(/ {8}pointsOfSale:\n.*\n/, '');
    const file = line.file('changed.yaml', changed);
    const firstImport = await line.run(['estate', 'import', file, '--json']);
    assert.equal(firstImport.code, 0, firstImport.stdout + firstImport.stderr);
    assert.deepEqual(countsOf(firstImport.json()), { ...nothing, changed: 6 });
    const unconfirmed = await line.run(['estate', 'import', file, '--prune']);
    assert.equal(unconfirmed.code, 2);
    assert.match(unconfirmed.stderr, /--yes/);
    const again = await line.run(['estate', 'import', file, '--json']);
    assert.deepEqual(countsOf(again.json()), nothing);
  });

  test('--prune in a file of one merchant removes only resources of that merchant', async () => {
    const scoped = `format: switchyard-estate/1
only: [cake]
merchants: [{ externalId: cake, name: Cake, country: FR, mcc: "5462", timeZone: Europe/Paris,
  stores: [{ name: A }, { name: B, logicalDevices: [{ name: D }] }] }]
`;
    const file = line.file('cake.yaml', scoped);
    const made = await line.run(['estate', 'import', file, '--json']);
    assert.deepEqual(countsOf(made.json()), { ...nothing, created: 3, changed: 1 });
    const second = ', { name: B, logicalDevices: [{ name: D }] }';
    const less = line.file('less.yaml', scoped.replace(second, ''));
    const pruned = await line.run(['estate', 'import', less, '--prune', '--yes', '--json']);
    assert.equal(pruned.code, 0, pruned.stderr);
    assert.deepEqual(countsOf(pruned.json()), { ...nothing, removed: 2 });
  });
});

test('organisations below are imported with users in their own user domains', async () => {
  const { suffix } = estateNames();
  const merchant = 'name: Shop, country: FR, mcc: "5462", timeZone: Europe/Paris';
  const file = line.file(
    'below.yaml',
    `format: switchyard-estate/1
organizations:
  - organization: { externalId: west, name: West, userDomainId: west-${suffix} }
    merchants: [{ externalId: m, ${merchant}, stores: [{ name: S }] }]
    users: [{ username: wendy, email: wendy@shop.example, merchant: m, groups: [merchant_manager] }]
    organizations:
      - { organization: { name: Deep }, merchants: [{ ${merchant} }] }
`,
  );
  const made = await line.run(['estate', 'import', file, '--json']);
  assert.equal(made.code, 0, made.stdout + made.stderr);
  assert.deepEqual(countsOf(made.json()), { ...nothing, created: 6 });
  const again = await line.run(['estate', 'import', file, '--json']);
  assert.deepEqual(countsOf(again.json()), nothing);
  const organizations = await line.run([
    'api',
    'GET',
    '/provisioning/v2/organizations',
    '--paginate',
  ]);
  const all = organizations.stdout
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row));
  const { organizationId } = all.find(({ externalId }) => externalId === 'west');
  const people = await line.run(['users', 'list', '--organization', organizationId, '--json']);
  assert.deepEqual(
    people.json().items.map(({ username }: { username: string }) => username),
    ['wendy'],
  );
  await line.run(['estate', 'export', '--out', 'all.yaml']);
  const diff = await line.run(['estate', 'diff', 'all.yaml', '--exit-code']);
  assert.equal(diff.code, 0, diff.stdout);
});

describe('errors of an import', () => {
  // Spec: PROV-73
  test('all errors of a file are reported with their lines, and nothing is sent', async () => {
    const file = line.file(
      'faulty.yaml',
      `format: switchyard-estate/1
merchants:
  - name: A
    country: France
    mcc: 5462
    timeZone: Europe/Paris
    colour: red
physicalDevices:
  - { serialNumber: "1", make: AXIUM, model: DX8000, family: axium, merchant: nobody }
`,
    );
    const schema = await line.run(['estate', 'import', file, '--json']);
    assert.equal(schema.code, 2);
    const lines = schema.json().error.fileErrors.map(({ line }: { line: number }) => line);
    assert.deepEqual([...new Set(lines)].sort(), [4, 5, 7], schema.stderr);
    const fixed = line.file(
      'fixed.yaml',
      readFileSync(file, 'utf8')
        .replace('France', 'FR')
        .replace('5462', '"5462"')
        .replace(/.*red\n/, ''),
    );
    const names = await line.run(['estate', 'import', fixed]);
    assert.equal(names.code, 2);
    assert.match(
      names.stderr,
      /line 8: \/physicalDevices\/0\/merchant refers to a merchant “nobody”/,
    );
    for (const [text, message] of [
      ['a: [1, 2', /line 1/],
      ['format: switchyard-estate/1\nformat: x\n', /line 2/],
      ['- 1', /the file must contain an object/],
      [
        'a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]',
        /cannot be read/,
      ],
    ] as const) {
      const ended = await line.run(['estate', 'diff', line.file('odd.yaml', text)]);
      assert.equal(ended.code, 2, text);
      assert.match(ended.stderr, message);
    }
    assert.equal((await line.run(['estate', 'diff', 'nowhere.yaml'])).code, 2);
  });

  // Spec: PROV-75
  test('changes that the server rejects are listed, the others are applied, and the exit code is 9', async () => {
    const merchant = (key: string, country: string) => ({
      externalId: key,
      name: key,
      country,
      mcc: '5462',
      timeZone: 'Europe/Paris',
      stores: [{ name: 'S' }],
    });
    const merchants = [merchant('good', 'FR'), merchant('bad', 'XX')];
    const file = line.file(
      'part.json',
      JSON.stringify({ format: 'switchyard-estate/1', merchants }),
    );
    const ended = await line.run(['estate', 'import', file, '--json']);
    assert.equal(ended.code, 9, ended.stderr);
    const { created, failures } = ended.json();
    assert.equal(created, 2);
    assert.deepEqual(
      failures.map(({ resource, code }: Record<string, string>) => [resource, code]),
      [
        ['merchant bad', 'field_invalid'],
        ['store bad/S', undefined],
      ],
    );
    assert.match(failures[0].message, /\/country/);
  });

  test('bulk requests report each new resource like single requests', async () => {
    const merchants = Array.from({ length: 40 }, (_, at) => ({
      externalId: `many-${at}`,
      name: `Many ${at}`,
      country: at === 7 ? 'XX' : 'FR',
      mcc: '5462',
      timeZone: 'Europe/Paris',
      stores: [{ externalId: 's', name: 'S' }],
    }));
    const format = 'switchyard-estate/1';
    const file = line.file('many.json', JSON.stringify({ format, merchants }));
    const ended = await line.run(['estate', 'import', file, '--json']);
    assert.equal(ended.code, 9, ended.stderr);
    const { created, failures } = ended.json();
    assert.equal(created, 78);
    assert.deepEqual(
      failures.map(({ resource, code }: Record<string, string>) => [resource, code]),
      [
        ['merchant many-7', 'field_invalid'],
        ['store many-7/s', undefined],
      ],
    );
    assert.match(failures[0].message, /; \/country {2}/);
    const { change, create } = (await line.run(['estate', 'diff', file, '--json'])).json();
    assert.deepEqual([create, change], [2, 0]);
  });

  test('a second import of an HTTP acquirer link changes nothing', async () => {
    const setup = await createTestOrganization();
    const links = await signedInCommandLine(setup);
    try {
      const file = links.file(
        'bank.yaml',
        `format: switchyard-estate/1
acquirerLinks:
  - externalId: bank
    name: bank
    adapter: HttpJson
    host: acquirer.example
    port: 443
    institutionId: "100001"
    status: Disabled
    httpJson: { path: /switchyard, acquirerKeys: [${'Q'.repeat(43)}] }
`,
      );
      const first = await links.run(['estate', 'import', file, '--json']);
      assert.equal(first.code, 0, first.stderr);
      assert.equal(first.json().created, 1);
      assert.deepEqual(
        countsOf((await links.run(['estate', 'import', file, '--json'])).json()),
        nothing,
      );
      const { stdout } = await links.run(['estate', 'export']);
      assert.match(stdout, /adapter: HttpJson/);
      assert.doesNotMatch(stdout, /signingKeys/);
    } finally {
      links.remove();
    }
  });

  // Spec: PROV-73
  test('an import that was killed continues without duplicates or gaps', async () => {
    const setup = await createTestOrganization();
    const many = await signedInCommandLine(setup);
    try {
      const file = many.file('many.json', yamlWithManyLinks(300));
      const made = async () => {
        const keys: string[] = [];
        for (let cursor = ''; ; ) {
          const path = `/provisioning/v2/acquirer-links?limit=200${cursor}`;
          const { body } = await setup.client.call('GET', path, { token: setup.acquirerToken });
          for (const { externalId } of body.items) if (externalId) keys.push(externalId);
          if (body.nextCursor === null) return keys;
          cursor = `&cursor=${body.nextCursor}`;
        }
      };
      const countAfterSignal = async (signal: 'SIGKILL' | 'SIGINT') => {
        const before = (await made()).length;
        const running = new AbortController();
        const ended = many.run(['estate', 'import', file], {
          onStarted: (child) => {
            void (async () => {
              while (!running.signal.aborted && (await made()).length < before + 40);
              child.kill(signal);
            })();
          },
        });
        const { code, stderr } = await ended;
        running.abort();
        return { code, stderr };
      };
      assert.equal((await countAfterSignal('SIGKILL')).code, null);
      const stopped = await countAfterSignal('SIGINT');
      assert.equal(stopped.code, 130, stopped.stderr);
      assert.match(stopped.stderr, /Run the same command again to continue/);
      const rest = await many.run(['estate', 'import', file, '--json']);
      assert.equal(rest.code, 0, rest.stderr);
      const keys = await made();
      assert.deepEqual([keys.length, new Set(keys).size], [300, 300]);
      assert.deepEqual(
        countsOf((await many.run(['estate', 'import', file, '--json'])).json()),
        nothing,
      );
    } finally {
      many.remove();
    }
  });
});
