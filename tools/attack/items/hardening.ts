// Item 9: authorization codes, HSTS, certificates of a demo, and the lock-out of a known user.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { follow } from '../../../packages/server/test/portal/portal-client.ts';
import {
  authorizationAddress,
  pkce,
} from '../../../packages/server/test/support/browser/sign-in-without-pages.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeAnswer } from '../describe.ts';
import type { Production, User } from '../platforms.ts';
import { recordRefusedStart } from '../refused-start.ts';
import { openVisitor } from '../visitor.ts';

const redirectUri = 'https://shop.example/callback';
const wrongPasswords = 24;

const form = (fields: Record<string, string>) => ({
  raw: String(new URLSearchParams(fields)),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

/** An attacker who has a code guesses the verifier; afterwards the code is worth nothing. */
async function retryVerifier(
  attempts: Attempts,
  production: Production,
  user: User,
): Promise<void> {
  const { victim, create, call } = production;
  const { realm, token } = victim;
  const { clientId } = await create(
    token,
    `/application-management/v1/user-domains/${realm}/applications`,
    {
      name: 'Shop',
      clientType: 'Public',
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
      webOrigins: ['https://shop.example'],
    },
  );
  const tokens = `/oauth2/v1/${realm}/token`;
  const visitor = openVisitor(production);
  const { browser } = visitor;
  const codeFor = async (challenge: object) => {
    const wanted = {
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: 'openid',
      ...challenge,
    };
    const isApplication = ({ hostname }: URL) => hostname === 'shop.example';
    const address = authorizationAddress(`/oauth2/v1/${realm}/auth`, wanted);
    let seen = await follow(browser, await browser.visit(address), isApplication);
    if (seen.location === undefined) {
      seen = await follow(browser, await visitor.enter(seen, user), isApplication);
    }
    return String(seen.location?.searchParams.get('code'));
  };
  const redeem = (code: string, verifier: string) =>
    call(
      undefined,
      'POST',
      tokens,
      form({
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: redirectUri,
        code,
        code_verifier: verifier,
      }),
    );
  const control = pkce();
  const { verifier: first, ...firstChallenge } = control;
  const good = await redeem(await codeFor(firstChallenge), first);
  attempts.requireControl(
    `a code with its verifier gets tokens: ${good.status}`,
    good.status === 200,
  );
  for (let count = 0; count < 5; count += 1) {
    const { verifier, ...challenge } = pkce();
    const code = await codeFor(challenge);
    const wrong = [
      pkce().verifier,
      `${verifier.slice(0, -1)}${verifier.endsWith('A') ? 'B' : 'A'}`,
      'x',
      '',
    ];
    const guessed = await redeem(code, wrong[count % wrong.length] ?? '');
    const after = await redeem(code, verifier);
    attempts.record({
      what: `verifier guess ${count}`,
      response: `wrong verifier ${describeAnswer(guessed)}, then the right one ${describeAnswer(after)}`,
      isHeld: guessed.status === 400 && after.status === 400,
    });
  }
  visitor.close();
}

async function readHsts(attempts: Attempts, { on }: Production): Promise<void> {
  const ca = readFileSync(on.caFile, 'utf8');
  const { port, host } = new URL(on.baseUrl);
  const head = (line: string, ...more: string[]) =>
    `${[`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...more].join('\r\n')}\r\n\r\n`;
  const requests = [
    head('GET /openapi.json'),
    head('HEAD /openapi.json'),
    head('GET /nothing'),
    head('GET /portal'),
    head('GET /portal/sign-in'),
    head('GET /provisioning/v2/merchants'),
    head('DELETE /openapi.json'),
    head('GET /', `X-Long: ${'x'.repeat(20_000)}`),
    head('GET /', 'Expect: nonsense'),
    head('GET /docs'),
    'nonsense\r\n\r\n',
    head('GET /').replace(/Host: .*\r\n/, ''),
    head('POST /oauth2/v1/nowhere/token', 'Content-Length: 0'),
    head('OPTIONS /payment/v1/transactions/process', 'Origin: https://evil.example'),
    head('GET /cloud-connector/v1/devices', 'Upgrade: websocket').replace(
      'Connection: close',
      'Connection: Upgrade',
    ),
  ];
  for (const at of [Number(port), on.devicePort]) {
    for (const request of requests) {
      const socket = connect({ host: 'localhost', port: at, ca, servername: 'localhost' });
      socket.write(request);
      const answer = await readAll(socket).catch(() => '');
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
      attempts.record({
        what: `${request.split('\r\n')[0]} at port ${at}`,
        response: `response ${status}: ${/^strict-transport-security: max-age=\d{7}/im.test(answer) ? 'HSTS' : 'no HSTS'}`,
        isHeld: /^strict-transport-security: max-age=\d{7}/im.test(answer),
      });
    }
  }
}

/** A user who has signed in in a browser goes on there while an attacker tries wrong passwords. */
async function lockOut(attempts: Attempts, production: Production, user: User): Promise<void> {
  const { call, victim } = production;
  const { realm } = victim;
  const known = openVisitor(production);
  await known.signInAtPortal(victim, user);
  await known.ask('POST', '/portal/sign-out');
  for (let count = 0; count < wrongPasswords; count += 1) {
    const answer = await call(
      undefined,
      'POST',
      `/oauth2/v1/${realm}/token`,
      form({
        grant_type: 'password',
        client_id: 'switchyard-cli',
        username: user.username,
        password: `wrong ${count}`,
      }),
    );
    const response = `wrong password: ${describeAnswer(answer)}`;
    attempts.record({ what: `wrong password ${count}`, response, isHeld: answer.status >= 400 });
  }
  const { browser } = known;
  const page = await follow(browser, await browser.visit(`/portal/sign-in?domain=${realm}`));
  const entered = await known.enter(page, user);
  attempts.record({
    what: `the user signs in where it is known, after ${wrongPasswords} wrong passwords from elsewhere`,
    response: `known browser: ${entered.status === 303 ? 'signed in' : `refused (${entered.status})`}`,
    isHeld: entered.status === 303,
  });
  const stranger = openVisitor(production);
  const form2 = await follow(
    stranger.browser,
    await stranger.browser.visit(`/portal/sign-in?domain=${realm}`),
  );
  const locked = await stranger.enter(form2, user);
  attempts.record({
    what: 'the right password in an unknown browser after the lock',
    response: `unknown browser: ${locked.status === 303 ? 'signed in' : 'locked out'}`,
    isHeld: locked.status !== 303,
  });
  known.close();
  stranger.close();
}

export const hardening: Attack = {
  item: 9,
  name: 'PKCE verifiers, HSTS, the lock-out of a known user',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const user = await production.createUser(production.victim, 'org_custcare');
    await readHsts(attempts, production);
    await retryVerifier(attempts, production, user);
    await lockOut(attempts, production, user);
  },
};

export const demoCertificate: Attack = {
  item: 9,
  name: 'production with the certificate of a demo',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const { facts } = await platforms.demo();
    const folder = dirname(facts.caFile);
    const [cert, key] = ['server.pem', 'server-key.pem'].map((name) => join(folder, name));
    await recordRefusedStart(attempts, production, {
      changes: { SWITCHYARD_TLS_CERT_FILE: cert ?? '', SWITCHYARD_TLS_KEY_FILE: key ?? '' },
      faults: [/SWITCHYARD_TLS_CERT_FILE/],
    });
    await recordRefusedStart(attempts, production, {
      changes: { SWITCHYARD_DEVICE_CA_FILE: facts.caFile },
      faults: [/SWITCHYARD_DEVICE_CA_FILE/],
    });
  },
};
