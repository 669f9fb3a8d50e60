import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type CommandLine,
  openCommandLine,
  signedInCommandLine,
} from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

let setup: TestOrganization;
let line: Awaited<ReturnType<typeof signedInCommandLine>>;
const opened: CommandLine[] = [];
before(async () => {
  setup = await createTestOrganization();
  line = await signedInCommandLine(setup);
  opened.push(line);
});
after(() => {
  for (const each of opened) each.remove();
});

const fresh = (env?: Record<string, string>) => {
  const made = openCommandLine(env);
  opened.push(made);
  return made;
};

describe('signing in', () => {
  // Spec: PROV-71
  test('a sign-in with client id and secret is saved for its owner, used by later commands, and removed', async () => {
    const ownLine = fresh();
    const login = ['login', '--url', setup.settings.baseUrl, '--user-domain', setup.realm];
    const clientOptions = [
      '--client-id',
      line.clientId,
      '--ca-file',
      ownLine.file('ca.pem', setup.ca),
    ];
    const signedIn = await ownLine.run([...login, ...clientOptions, '--as', 'work'], {
      stdin: `${line.clientSecret}\n`,
    });
    assert.equal(signedIn.code, 0, signedIn.stderr);
    assert.match(signedIn.stdout, /^Signed in to https:.* \(profile work\)/);
    const home = join(ownLine.folder, 'home');
    for (const file of [join(home, 'profiles.json'), ...tokensIn(home)]) {
      assert.equal(statSync(file).mode & 0o077, 0, file);
    }
    const me = await ownLine.run(['whoami', '--json']);
    assert.equal(me.code, 0, me.stderr);
    assert.equal(me.json().entityId, setup.organizationId);
    assert.ok(me.json().permissions.includes('prov.write'));
    const printed = await ownLine.run(['token', 'print']);
    assert.match(printed.stdout, /^ey[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const reported = signedIn.stdout + signedIn.stderr + me.stdout + me.stderr;
    assert.ok(!reported.includes(line.clientSecret) && !reported.includes(printed.stdout.trim()));

    const list = await ownLine.run(['profiles', 'list', '--json']);
    assert.deepEqual(
      list
        .json()
        .items.map((each: { name: string; current: boolean }) => [each.name, each.current]),
      [['work', true]],
    );
    assert.equal((await ownLine.run(['logout'])).code, 0);
    assert.deepEqual(tokensIn(home), []);
    assert.ok(!readFileSync(join(home, 'profiles.json'), 'utf8').includes(line.clientSecret));
    assert.equal((await ownLine.run(['whoami'])).code, 3);
  });

  test('commands share one token, and an invalid token is replaced silently', async () => {
    const ownLine = await signedInCommandLine(setup);
    opened.push(ownLine);
    const [file = ''] = await ownLine
      .run(['whoami'])
      .then(() => tokensIn(join(ownLine.folder, 'home')));
    const first = readFileSync(file, 'utf8');
    await ownLine.run(['whoami']);
    assert.equal(readFileSync(file, 'utf8'), first);
    const storedSession = JSON.parse(first);
    rmSync(file);
    writeFileSync(file, JSON.stringify({ ...storedSession, accessToken: 'e30.e30.e30' }));
    const again = await ownLine.run(['api', 'GET', '/provisioning/v2/organizations']);
    assert.equal(again.code, 0, again.stderr);
    assert.notEqual(JSON.parse(readFileSync(file, 'utf8')).accessToken, 'e30.e30.e30');
  });

  test('a sign-in reads the secret from demo.json or from a file', async () => {
    const ownLine = fresh();
    const { baseUrl, authUrl } = setup.settings;
    const { clientId, clientSecret } = line;
    const applications = { office: { clientId, clientSecret }, page: { clientId: 'p' } };
    const caFile = ownLine.file('ca.pem', setup.ca);
    const facts = { baseUrl, authUrl, caFile, userDomainId: setup.realm, applications };
    ownLine.file('demo.json', JSON.stringify(facts));
    const demo = ['login', '--demo', ownLine.folder, '--application'];
    assert.equal((await ownLine.run([...demo, 'office'])).code, 0);
    assert.equal((await ownLine.run(['whoami', '--json'])).json().clientId, clientId);
    const page = await ownLine.run([...demo, 'page']);
    assert.equal(page.code, 2);
    assert.match(page.stderr, /It has: office/);
    const login = [
      'login',
      '--url',
      baseUrl,
      '--user-domain',
      setup.realm,
      '--client-id',
      clientId,
    ];
    const secret = ['--client-secret-file', ownLine.file('secret', `${clientSecret}\n`)];
    const storedSession = await ownLine.run([
      ...login,
      ...secret,
      '--ca-file',
      caFile,
      '--as',
      'file',
    ]);
    assert.equal(storedSession.code, 0, storedSession.stderr);
    const profiles = readFileSync(join(ownLine.folder, 'home', 'profiles.json'), 'utf8');
    assert.ok(!profiles.includes(clientSecret));
    assert.equal((await ownLine.run(['profiles', 'use', 'default'])).code, 0);
    assert.equal((await ownLine.run(['whoami', '--json'])).json().profile, 'default');
  });

  test('a wrong secret or user domain ends with 3 and saves nothing', async () => {
    const ownLine = fresh();
    const base = ['login', '--url', setup.settings.baseUrl, '--client-id', line.clientId];
    const ca = ['--ca-file', ownLine.file('ca.pem', setup.ca)];
    const wrong = await ownLine.run([...base, ...ca, '--user-domain', setup.realm], {
      stdin: 'no\n',
    });
    assert.equal(wrong.code, 3, wrong.stderr);
    assert.match(wrong.stderr, /invalid_client/);
    const nowhere = await ownLine.run([...base, ...ca, '--user-domain', 'nowhere'], {
      stdin: 'no\n',
    });
    assert.equal(nowhere.code, 3, nowhere.stderr);
    assert.equal((await ownLine.run(['profiles', 'list', '--json'])).json().items.length, 0);
  });
});

function tokensIn(home: string): string[] {
  const folder = join(home, 'tokens');
  return readdirSync(folder).map((name) => join(folder, name));
}

describe('exit codes', () => {
  test('2: an invalid command line or value', async () => {
    for (const args of [
      [],
      ['fly'],
      ['estate', 'diff'],
      ['audit', 'list', '--limit', 'many'],
      ['api', 'FETCH', '/x'],
      ['api', 'GET', 'https://elsewhere.example/'],
      ['login', '--url', 'http://pay.example', '--user-domain', 'x', '--client-id', 'y'],
      ['--profile', 'nobody', 'whoami'],
    ]) {
      const { code, stdout } = await line.run(args);
      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    }
  });

  // Spec: PROV-75
  test('4, 5 and 6: not permitted, not found and rejected, with code and request id, also as JSON', async () => {
    const reader = await signedInCommandLine(setup, 'MerchantReadOnly', setup.merchant.merchantId);
    opened.push(reader);
    const denied = await reader.run(['audit', 'list']);
    assert.equal(denied.code, 4, denied.stderr);
    assert.match(denied.stderr, /permission_denied, HTTP 403[\s\S]*request {2}\S+/);
    const missing = await line.run([
      'api',
      'GET',
      `/provisioning/v2/stores/${setup.linkId}`,
      '--json',
    ]);
    assert.equal(missing.code, 5);
    assert.equal(missing.stdout, '');
    assert.equal(missing.json().error.code, 'store_not_found');
    const members = ['-f', 'name=x', '-f', 'mcc=12', '-f', 'country=FR', '-f', 'timeZone=x'];
    const refused = await line.run(['api', 'POST', '/provisioning/v2/merchants', ...members]);
    assert.equal(refused.code, 6);
    assert.match(refused.stderr, /\/mcc {2}\S.*\n[\s\S]*help {5}https:.*\/docs\/errors\//);
  });

  test('7: an unreachable server, or an untrusted certificate', async () => {
    const { SWITCHYARD_CLI_CA_FILE: _ca, SWITCHYARD_CLI_HOME: _home, ...env } = line.env;
    const ownLine = fresh(env);
    const untrusted = await ownLine.run(['whoami']);
    assert.equal(untrusted.code, 7, untrusted.stderr);
    assert.match(untrusted.stderr, /certificate of localhost:\d+ .*not trust[\s\S]*--ca-file/);
    const unreachable = await line.run(['whoami'], {
      env: {
        SWITCHYARD_CLI_URL: 'https://localhost:1',
        SWITCHYARD_CLI_HOME: join(ownLine.folder, 'h'),
      },
    });
    assert.equal(unreachable.code, 7, unreachable.stderr);
  });

  test('0: help of every level on stdout, with examples', async () => {
    for (const args of [['--help'], ['estate', 'import', '--help'], ['audit', 'verify', '-h']]) {
      const { code, stdout, stderr } = await line.run(args);
      assert.deepEqual([code, stderr], [0, ''], args.join(' '));
      assert.match(stdout, /^Usage: switchyard/);
    }
  });
});

test('a list is JSON with --json, and a table without colours if stdout is not a terminal', async () => {
  const json = await line.run(['audit', 'list', '--limit', '2', '--json']);
  assert.equal(json.json().items.length, 2);
  assert.equal(json.json().more, true);
  const text = await line.run(['audit', 'list', '--limit', '2']);
  assert.match(text.stdout, /^SEQUENCE {2}AT /);
  assert.ok(!text.stdout.includes('\u001b'));
  const all = await line.run(['api', 'GET', '/provisioning/v2/stores', '--paginate']);
  const stores = all.stdout
    .trimEnd()
    .split('\n')
    .map((row) => JSON.parse(row));
  assert.deepEqual(
    stores.map(({ storeId }) => storeId).sort(),
    [setup.merchant.storeId, setup.otherMerchant.storeId].sort(),
  );
});
