/** An API client that acts as a device of the demo: a user of the merchant gets a custom token for the device. */

import type { CommandContext } from '../command-line/command-runner.ts';
import { type ApiClient, createApiClient } from '../http/api-client.ts';
import { createTransport, type Transport } from '../http/https-transport.ts';
import {
  listOf,
  type Members,
  membersOf,
  parseJson,
  problemError,
} from '../http/problem-details.ts';
import { fail } from '../runtime/command-error.ts';
import { readInputFile } from '../session/private-files.ts';
import { demoProfile, type Profile, readDemoFile, requireDemoText } from '../session/profiles.ts';
import { requestToken } from '../session/token-request.ts';

export type DemoDevice = {
  /** Sends requests with the token of the device. */
  readonly api: ApiClient;
  /** The payment type of the demo's QR payment provider. */
  readonly paymentType: string;
};

/** A user of the demo's merchant without a second factor, and a device of the same merchant. */
function findUserAndDevice(demo: Members, file: string): { user: Members; tsn: string } {
  const merchant = membersOf(membersOf(demo['applications'])['merchant']);
  const merchantId = requireDemoText(merchant, 'merchantId', file);
  const user = listOf(demo['users']).find(
    (each) => each['entityId'] === merchantId && each['otpSecret'] === undefined,
  );
  const stores = listOf(demo['merchants'])
    .filter((each) => each['merchantId'] === merchantId)
    .flatMap((each) => listOf(each['stores']).map((store) => store['storeId']));
  const device = listOf(demo['devices']).find((each) => stores.includes(each['storeId']));
  if (user === undefined || device === undefined) {
    return fail(
      'usage',
      `${file} has no device or no user without one-time code of the demo merchant. Start the demo again: npm start`,
    );
  }
  return { user, tsn: requireDemoText(device, 'tsn', file) };
}

async function requestDeviceToken(
  transport: Transport,
  profile: Profile,
  { user, tsn, file, now }: { user: Members; tsn: string; file: string; now: number },
): Promise<string> {
  const form = {
    grant_type: 'password',
    username: requireDemoText(user, 'username', file),
    password: requireDemoText(user, 'password', file),
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
  if (answer.status !== 200) throw problemError(answer);
  return requireDemoText(membersOf(parseJson(answer.body)), 'access_token', 'The answer');
}

/**
 * Signs the device in at the first call of `open`.
 *
 * @example const { open, close } = createDemoDeviceSession(context, file); const { api } = await open();
 */
export function createDemoDeviceSession(
  { environment, globals }: Pick<CommandContext, 'environment' | 'globals'>,
  file: string,
): { open(): Promise<DemoDevice>; close(): void } {
  let transport: Transport | undefined;
  let pendingDevice: Promise<DemoDevice> | undefined;

  async function login(): Promise<DemoDevice> {
    const demo = readDemoFile(file);
    const { clientId } = membersOf(membersOf(demo['applications'])['device']);
    if (typeof clientId !== 'string')
      fail('usage', `${file} has no application of devices. Start the demo again: npm start`);
    const profile: Profile = {
      ...demoProfile(file, 'merchant'),
      clientId,
      secret: { kind: 'Person' },
    };
    const { user, tsn } = findUserAndDevice(demo, file);
    const paymentType = requireDemoText(membersOf(demo['qr']), 'paymentType', file);
    const ca = profile.caFile === undefined ? undefined : readInputFile(profile.caFile);
    transport = createTransport({ ca, timeoutMs: globals.timeout * 1000 });
    const { clock, stopping } = environment;
    const token = await requestDeviceToken(transport, profile, {
      user,
      tsn,
      file,
      now: clock.now(),
    });
    const tokens = { get: async () => token };
    return {
      api: createApiClient({ baseUrl: profile.url, transport, tokens, clock, stopping }),
      paymentType,
    };
  }

  return {
    open: () => {
      pendingDevice ??= login();
      return pendingDevice;
    },
    close: () => transport?.close(),
  };
}
