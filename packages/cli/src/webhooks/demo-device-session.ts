/** A terminal of the demo, as its pages simulate it: a person of the merchant signs in, and speaks for the device. */

import type { Kit } from '../command-line/command-runner.ts';
import { type Api, createApi } from '../http/api-client.ts';
import { createTransport, type Transport } from '../http/https-transport.ts';
import { membersOf, problemFault, readJson } from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import { readNamed } from '../session/private-files.ts';
import { demoFacts, demoProfile, type Profile } from '../session/profiles.ts';
import { requestToken } from '../session/token-request.ts';

export type DemoTerminal = {
  /** Signed in as the device. */
  readonly api: Api;
  /** That the demo's provider of QR payments takes. */
  readonly paymentType: string;
};

type Members = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value.map(membersOf) : []);

function textOf(of: Members, name: string, file: string): string {
  const value = of[name];
  return typeof value === 'string' ? value : fail('usage', `${file} does not tell ${name}.`);
}

/** Of the merchant whose application the demo names: who signs in without a code, and one of its devices. */
function playersOf(facts: Members, file: string): { user: Members; tsn: string } {
  const merchant = membersOf(membersOf(facts['applications'])['merchant']);
  const merchantId = textOf(merchant, 'merchantId', file);
  const user = listOf(facts['users']).find(
    (each) => each['entityId'] === merchantId && each['otpSecret'] === undefined,
  );
  const stores = listOf(facts['merchants'])
    .filter((each) => each['merchantId'] === merchantId)
    .flatMap((each) => listOf(each['stores']).map((store) => store['storeId']));
  const device = listOf(facts['devices']).find((each) => stores.includes(each['storeId']));
  if (user === undefined || device === undefined) {
    return fail('usage', `${file} knows no device of its merchant, or nobody who speaks for it.`);
  }
  return { user, tsn: textOf(device, 'tsn', file) };
}

async function deviceTokenOf(
  transport: Transport,
  profile: Profile,
  { user, tsn, file, now }: { user: Members; tsn: string; file: string; now: number },
): Promise<string> {
  const form = {
    grant_type: 'password',
    client_id: profile.clientId,
    username: textOf(user, 'username', file),
    password: textOf(user, 'password', file),
  };
  const { accessToken } = await requestToken(transport, profile, form, now);
  const realm = encodeURIComponent(profile.userDomainId);
  const answer = await transport.send({
    method: 'POST',
    url: new URL(`/auth/realms/${realm}/custom-token`, profile.authUrl),
    headers: {
      authorization: `Bearer ${accessToken}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({
      device_id: tsn,
      device_model: 'switchyard',
      method: 'api',
    }).toString(),
  });
  if (answer.status !== 200) throw problemFault(answer);
  return textOf(membersOf(readJson(answer.body)), 'access_token', 'The answer');
}

/**
 * Signs a device in when it is first asked for.
 *
 * @example const { open, close } = demoTerminal(kit, file); const { api } = await open();
 */
export function demoTerminal(
  { world, globals }: Pick<Kit, 'world' | 'globals'>,
  file: string,
): { open(): Promise<DemoTerminal>; close(): void } {
  let transport: Transport | undefined;
  let opening: Promise<DemoTerminal> | undefined;

  async function openNow(): Promise<DemoTerminal> {
    const facts = demoFacts(file);
    const { clientId } = membersOf(membersOf(facts['applications'])['device']);
    if (typeof clientId !== 'string') fail('usage', `${file} names no application of devices.`);
    const profile: Profile = {
      ...demoProfile(file, 'merchant'),
      clientId,
      secret: { kind: 'Person' },
    };
    const { user, tsn } = playersOf(facts, file);
    const paymentType = textOf(membersOf(facts['qr']), 'paymentType', file);
    const ca = profile.caFile === undefined ? undefined : readNamed(profile.caFile);
    transport = createTransport({ ca, timeoutMs: globals.timeout * 1000 });
    const { clock, stopping } = world;
    const token = await deviceTokenOf(transport, profile, { user, tsn, file, now: clock.now() });
    const tokens = { get: async () => token };
    return {
      api: createApi({ baseUrl: profile.url, transport, tokens, clock, stopping }),
      paymentType,
    };
  }

  return {
    open: () => {
      opening ??= openNow();
      return opening;
    },
    close: () => transport?.close(),
  };
}
