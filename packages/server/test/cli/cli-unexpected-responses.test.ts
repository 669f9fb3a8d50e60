// Whole run: commands as users start them, each a process of its own.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { after, before, test } from 'node:test';
import {
  type CommandLine,
  openCommandLine,
  runCommand,
} from '../support/processes/switchyard-command.ts';
import { testPlatform } from '../support/test-platform.ts';

type Script = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let line: CommandLine;
let env: Record<string, string>;
let script: Script;
const requests: string[] = [];

const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  type = 'application/json',
) => {
  response.writeHead(status, { 'content-type': type });
  response.end(JSON.stringify(body));
};

before(async () => {
  const { settings, ca } = await testPlatform();
  const folder = `${settings.dataDir}/tls`;
  server = createServer(
    { cert: readFileSync(`${folder}/server.pem`), key: readFileSync(`${folder}/server-key.pem`) },
    (request, response) => {
      requests.push(`${request.method} ${request.url}`);
      if (request.url?.endsWith('/token')) {
        json(response, 200, { access_token: 'e30.e30.e30', expires_in: 3600 });
      } else script(request, response);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  line = openCommandLine();
  env = {
    ...line.env,
    SWITCHYARD_CLI_URL: `https://localhost:${port}`,
    SWITCHYARD_CLI_USER_DOMAIN: 'demo',
    SWITCHYARD_CLI_CLIENT_ID: 'x',
    SWITCHYARD_CLI_CLIENT_SECRET: 'y',
    SWITCHYARD_CLI_CA_FILE: line.file('ca.pem', ca),
  };
});
after(() => {
  server.closeAllConnections();
  server.close();
  line.remove();
});

const run = (args: string[]) => runCommand(args, env, line.folder);
const list = ['users', 'list'];

test('an HTML page of a proxy in place of a list ends with 1 and names the media type', async () => {
  script = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>Sign in to the guest network</html>');
  };
  const { code, stdout, stderr } = await run(list);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /text\/html, which is not JSON/);
});

test('control characters in names are escaped in tables, errors and JSON', async () => {
  const evil = '\u001b]0;owned\u0007\u009b2J\u202egpj\r\nfake: ok';
  script = (_request, response) =>
    json(response, 200, { items: [{ userId: evil, username: evil }], nextCursor: null });
  for (const args of [list, [...list, '--json']]) {
    const { code, stdout } = await run(args);
    assert.equal(code, 0);
    assert.doesNotMatch(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
    assert.doesNotMatch(stdout, /^fake/m);
  }
  script = (_request, response) =>
    json(
      response,
      422,
      { detail: evil, code: evil, errors: [{ pointer: evil }] },
      'application/problem+json',
    );
  const { code, stderr } = await run(list);
  assert.equal(code, 6);
  assert.doesNotMatch(stderr.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
});

test('a list with a repeated cursor or without items ends with 1', async () => {
  script = (_request, response) => json(response, 200, { items: [], nextCursor: 'again' });
  const circle = await run([...list, '--all']);
  assert.equal(circle.code, 1);
  assert.match(circle.stderr, /same cursor twice/);
  script = (_request, response) => json(response, 200, { items: 'none' });
  assert.equal((await run(list)).code, 1);
});

test('an endless response ends with 1, and a slow one with 7', async () => {
  const block = Buffer.alloc(1024 * 1024, 0x20);
  script = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (!response.destroyed && response.write(block));
    };
    response.on('drain', more);
    more();
  };
  const huge = await run(list);
  assert.equal(huge.code, 1, huge.stderr);
  assert.match(huge.stderr, /larger than 64 MiB/);
  script = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    // The command may retry, and each response arrives byte by byte until the command disconnects.
    const drip = setInterval(() => response.write(' '), 50);
    response.once('close', () => clearInterval(drip));
  };
  const slow = await run([...list, '--timeout', '1']);
  assert.equal(slow.code, 7, slow.stderr);
  script = () => {};
  const silent = await run(['api', 'DELETE', '/x', '--timeout', '1']);
  assert.equal(silent.code, 7);
  assert.match(silent.stderr, /did not answer within 1 s/);
});

test('reads of a busy server are retried; a change that may have been processed is not', async () => {
  requests.length = 0;
  script = (_request, response) => {
    if (requests.length < 3) {
      response.writeHead(503, { 'retry-after': '0' });
      response.end();
    } else json(response, 200, { items: [], nextCursor: null });
  };
  assert.equal((await run(list)).code, 0);
  assert.ok(requests.length >= 3);
  const change = ['api', 'POST', '/provisioning/v2/stores', '-f', 'name=x'];
  const problem = (outcome: string) => ({ status: 503, code: 'overloaded', outcome });
  script = (_request, response) =>
    json(response, 503, problem('Unknown'), 'application/problem+json');
  const page: Script = (_request, response) => {
    response.writeHead(429, { 'retry-after': '0', 'content-type': 'text/html' });
    response.end('<html>Try again later</html>');
  };
  for (const answer of [script, page]) {
    script = answer;
    requests.length = 0;
    const unknown = await run(change);
    assert.equal(unknown.code, 7, unknown.stderr);
    assert.deepEqual(requests, ['POST /provisioning/v2/stores']);
  }
  requests.length = 0;
  script = (_request, response) => {
    response.setHeader('retry-after', '0');
    if (requests.length < 3) {
      json(response, 503, problem('NotProcessed'), 'application/problem+json');
    } else json(response, 201, { storeId: 'x' });
  };
  assert.equal((await run(change)).code, 0);
  assert.equal(requests.length, 3);
  requests.length = 0;
  script = (request) => void request.socket.destroy();
  const broken = await run(change);
  assert.equal(broken.code, 7, broken.stderr);
  assert.deepEqual(requests, ['POST /provisioning/v2/stores']);
});

test('the token is sent to the platform only', async () => {
  script = (_request, response) => {
    response.writeHead(302, { location: 'https://elsewhere.example/' });
    response.end();
  };
  requests.length = 0;
  const moved = await run(['api', 'GET', '/x']);
  assert.equal(moved.code, 1);
  assert.deepEqual(requests, ['GET /x']);
  assert.equal((await run(['api', 'GET', '//elsewhere.example/x'])).code, 2);
});
