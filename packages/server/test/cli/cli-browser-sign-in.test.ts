import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Agent } from 'node:https';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createBrowser, type Transport, tlsTransport } from '../support/browser/cookie-browser.ts';
import { submitForm } from '../support/browser/test-sign-in-pages.ts';
import { freePorts } from '../support/free-ports.ts';
import { createTestUser, otpCodeAt, type TestUser } from '../support/identity/test-users.ts';
import { type CommandLine, openCommandLine } from '../support/processes/switchyard-command.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

let setup: TestOrganization;
let line: CommandLine;
let person: TestUser;
let clientId: string;
let redirect: string;
let over: { transport: Transport; agent: Agent };
let common: string[];

before(async () => {
  setup = await createTestOrganization();
  line = openCommandLine();
  over = tlsTransport(setup.ca);
  const [port] = await freePorts(1);
  redirect = `http://localhost:${port}/callback`;
  const { organizationId, realm: userDomainId, platform } = setup;
  person = await createTestUser(
    { identity: platform.identity, organizationId, userDomainId },
    { hasOneTimePassword: true },
  );
  const application = await platform.identity.createPublicApplication({
    organizationId,
    userDomainId,
    clientId: `cli-${randomUUID()}`,
    roles: [],
    name: 'Command line',
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['AuthorizationCode', 'Password'],
    redirectUris: [redirect],
  });
  clientId = application.clientId;
  common = ['--url', setup.settings.baseUrl, '--user-domain', setup.realm, '--client-id', clientId];
  common.push('--ca-file', line.file('ca.pem', setup.ca));
});
after(() => {
  over.agent.destroy();
  line.remove();
});

const code = () => otpCodeAt(person.otpSecret ?? '', Date.now());

/** The address that the command prints for the browser. */
async function webLogin(use: (address: string) => Promise<unknown>) {
  let opened: Promise<unknown> | undefined;
  let output = '';
  const ended = await line.run(['login', '--web', ...common, '--redirect-uri', redirect], {
    onStarted: (child) => {
      child.stderr?.on('data', (text: string) => {
        output += text;
        const address = / {2}(https:\S+)\n/.exec(output)?.[1];
        if (address !== undefined) opened ??= use(address);
      });
    },
  });
  await opened;
  return ended;
}

// Spec: PROV-71
test('a user signs in with the browser, and refresh tokens keep the session', async () => {
  const ended = await webLogin(async (address) => {
    const browser = createBrowser(setup.settings.authUrl, over.transport);
    const page = await browser.browse(address);
    const { username } = person.user;
    const sent = await submitForm(browser, page, {
      username,
      password: person.password,
      code: code(),
    });
    const back = sent.location === undefined ? sent : await browser.browse(sent.location);
    const callback = back.location;
    assert.ok(callback !== undefined, back.text);
    const strange = new URL(callback);
    strange.searchParams.set('state', 'another');
    assert.equal((await fetch(strange)).status, 404);
    assert.match(await (await fetch(callback)).text(), /You are signed in/);
  });
  assert.equal(ended.code, 0, ended.stderr);
  const whoami = await line.run(['whoami', '--json']);
  assert.equal(whoami.json().name, person.user.username);
  const { items } = (await line.run(['users', 'list', '--json'])).json();
  assert.equal(items[0].username, person.user.username);
  // The access token has expired: one of several concurrent commands refreshes it, and the others
  // use the new one.
  const home = join(line.folder, 'home', 'tokens');
  for (const name of readdirSync(home)) {
    const storedSession = JSON.parse(readFileSync(join(home, name), 'utf8'));
    writeFileSync(join(home, name), JSON.stringify({ ...storedSession, expiresAt: 0 }));
  }
  const many = [1, 2, 3].map(() => line.run(['users', 'list', '--json']));
  for (const each of await Promise.all(many)) assert.equal(each.code, 0, each.stderr);
});

test('a sign-in that is denied in the browser ends with 3', async () => {
  const ended = await webLogin(async (address) => {
    const { searchParams } = new URL(address);
    const callback = new URL(redirect);
    callback.searchParams.set('state', searchParams.get('state') ?? '');
    callback.searchParams.set('error', 'access_denied');
    assert.match(await (await fetch(callback)).text(), /not signed in/);
  });
  assert.equal(ended.code, 3, ended.stderr);
  assert.match(ended.stderr, /access_denied/);
});
