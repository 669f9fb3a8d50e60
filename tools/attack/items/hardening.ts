// Item 9: authorization codes, HSTS, certificates of a demo, and the lock-out of a known user.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { follow } from '../../../packages/server/test/portal/portal-client.ts';
import {
  authorizationUrl,
  createPkce,
} from '../../../packages/server/test/support/browser/sign-in-without-pages.ts';
import type { Attack, Attempts } from '../attack.ts';
import { describeResponse, isClientError } from '../describe-response.ts';
import type { Production, User } from '../platforms.ts';
import { recordRefusedStart } from '../refused-start.ts';
import { formBody } from '../requests.ts';
import { openSignInBrowser, type SignInBrowser } from '../sign-in-browser.ts';

const redirectUri = 'https://shop.example/callback';
const wrongPasswordCount = 24;

const hstsPattern = /^strict-transport-security: max-age=\d{7}/im;

/** An attacker who has a code guesses the verifier; afterwards the code is worth nothing. */
async function retryVerifier(
  attempts: Attempts,
  production: Production,
  user: User,
  signInBrowser: SignInBrowser,
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
  const { browser } = signInBrowser;
  const requestCode = async (challenge: object) => {
    const parameters = {
      client_id: clientId,
      redirect_uri: redirectUri,
      scope: 'openid',
      ...challenge,
    };
    const isApplication = ({ hostname }: URL) => hostname === 'shop.example';
    const address = authorizationUrl(`/oauth2/v1/${realm}/auth`, parameters);
    let page = await follow(browser, await browser.visit(address), isApplication);
    if (page.location === undefined) {
      page = await follow(
        browser,
        await signInBrowser.submitCredentials(page, user),
        isApplication,
      );
    }
    return String(page.location?.searchParams.get('code'));
  };
  const redeem = (code: string, verifier: string) =>
    call(
      undefined,
      'POST',
      tokens,
      formBody({
        grant_type: 'authorization_code',
        client_id: clientId,
        redirect_uri: redirectUri,
        code,
        code_verifier: verifier,
      }),
    );
  const control = createPkce();
  const { verifier: first, ...firstChallenge } = control;
  const good = await redeem(await requestCode(firstChallenge), first);
  attempts.requireControl(
    `a code with its verifier gets tokens: ${good.status}`,
    good.status === 200,
  );
  for (let count = 0; count < 5; count += 1) {
    const { verifier, ...challenge } = createPkce();
    const code = await requestCode(challenge);
    const wrong = [
      createPkce().verifier,
      `${verifier.slice(0, -1)}${verifier.endsWith('A') ? 'B' : 'A'}`,
      'x',
      '',
    ];
    const guessed = await redeem(code, wrong[count % wrong.length] ?? '');
    const after = await redeem(code, verifier);
    attempts.record({
      description: `verifier guess ${count}`,
      response: `wrong verifier ${describeResponse(guessed)}, then the right one ${describeResponse(after)}`,
      isDefended: guessed.status === 400 && after.status === 400,
    });
  }
}

async function readHsts(attempts: Attempts, { platform }: Production): Promise<void> {
  const ca = readFileSync(platform.caFile, 'utf8');
  const { port, host } = new URL(platform.baseUrl);
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
    head('GET /docs/api'),
    'nonsense\r\n\r\n',
    head('GET /').replace(/Host: .*\r\n/, ''),
    head('POST /oauth2/v1/nowhere/token', 'Content-Length: 0'),
    head('OPTIONS /payment/v1/transactions/process', 'Origin: https://evil.example'),
    head('GET /cloud-connector/v1/devices', 'Upgrade: websocket').replace(
      'Connection: close',
      'Connection: Upgrade',
    ),
  ];
  for (const at of [Number(port), platform.devicePort]) {
    for (const request of requests) {
      const socket = connect({ host: 'localhost', port: at, ca, servername: 'localhost' });
      socket.write(request);
      const answer = await readAll(socket).catch((error: Error) => error.message);
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
      const isDefended = status !== undefined && hstsPattern.test(answer);
      attempts.record({
        description: `${request.split('\r\n')[0]} at port ${at}`,
        response: `response ${status ?? `missing (${answer})`}: ${isDefended ? 'HSTS' : 'no HSTS'}`,
        isDefended,
      });
    }
  }
}

/** A user who has signed in in a browser goes on there while an attacker tries wrong passwords. */
async function lockOutKnownUser(
  attempts: Attempts,
  production: Production,
  user: User,
  [knownBrowser, unknownBrowser]: readonly [SignInBrowser, SignInBrowser],
): Promise<void> {
  const { call, victim } = production;
  const { realm } = victim;
  await knownBrowser.signInAtPortal(victim, user);
  await knownBrowser.callFromPortal('POST', '/portal/sign-out');
  for (let count = 0; count < wrongPasswordCount; count += 1) {
    const answer = await call(
      undefined,
      'POST',
      `/oauth2/v1/${realm}/token`,
      formBody({
        grant_type: 'password',
        client_id: 'switchyard-cli',
        username: user.username,
        password: `wrong ${count}`,
      }),
    );
    const response = `wrong password: ${describeResponse(answer)}`;
    const isDefended = isClientError(answer.status);
    attempts.record({ description: `wrong password ${count}`, response, isDefended });
  }
  const enterPassword = async (signInBrowser: SignInBrowser) => {
    const { browser } = signInBrowser;
    const page = await follow(browser, await browser.visit(`/portal/sign-in?domain=${realm}`));
    return signInBrowser.submitCredentials(page, user);
  };
  const accepted = await enterPassword(knownBrowser);
  attempts.record({
    description: `the user signs in where it is known, after ${wrongPasswordCount} wrong passwords from elsewhere`,
    response: `known browser: ${accepted.status}`,
    isDefended: accepted.status === 303,
  });
  const locked = await enterPassword(unknownBrowser);
  attempts.record({
    description: 'the right password in an unknown browser after the lock',
    response: `unknown browser: ${locked.status}`,
    isDefended: isClientError(locked.status),
  });
}

export const hardeningAttack: Attack = {
  item: 9,
  name: 'PKCE verifiers, HSTS, the lock-out of a known user',
  async run(attempts, platforms) {
    const production = await platforms.production();
    const user = await production.createUser(production.victim, 'org_custcare');
    const browsers = [
      openSignInBrowser(production),
      openSignInBrowser(production),
      openSignInBrowser(production),
    ] as const;
    const [guessingBrowser, knownBrowser, unknownBrowser] = browsers;
    try {
      await readHsts(attempts, production);
      await retryVerifier(attempts, production, user, guessingBrowser);
      await lockOutKnownUser(attempts, production, user, [knownBrowser, unknownBrowser]);
    } finally {
      for (const signInBrowser of browsers) signInBrowser.close();
    }
  },
};

export const demoCertificateAttack: Attack = {
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
