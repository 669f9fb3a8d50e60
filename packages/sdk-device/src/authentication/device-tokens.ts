/** The token of a terminal, kept and renewed before it expires, from one of three grants. */
import type { MerchantCredentials } from '@switchyard/contract';
import {
  type Clock,
  createTokenCache,
  type HttpClient,
  renewBeforeExpiryMs,
  requireSecureUrl,
  systemClock,
  unlessAborted,
} from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceHttpClient } from '../network/http-client.ts';
import {
  abortedError,
  createDeviceError,
  DeviceError,
  invalidError,
} from '../support/device-error.ts';
import { fetchCredentials, type IssuedToken, requestToken } from './token-requests.ts';

/**
 * A source of tokens. The clients of this package accept any source; your own needs two functions.
 *
 * @example
 * const tokens: TokenSource = { get: async () => readFile('token', 'utf8'), invalidate() {} };
 */
export type TokenSource = {
  /** @throws DeviceError if no token is given; its text never contains a secret */
  get(signal?: AbortSignal): Promise<string>;
  /** Discards a token that the platform refused early; the next `get` requests a new one. */
  invalidate(token: string): void;
};

/**
 * A source that keeps connections open.
 *
 * @example
 * const tokens: DeviceTokens = machineTokens({ authUrl, deviceAuthUrl, tls });
 * tokens.close();
 */
export type DeviceTokens = TokenSource & { close(): void };

type CommonOptions = { readonly tls?: DeviceTls; readonly clock?: Clock };

/**
 * The options of a terminal that authenticates with its certificate.
 *
 * @example
 * const options: MachineTokenOptions = {
 *   authUrl: 'https://pay.example', deviceAuthUrl: 'https://pay.example:9021', tls: { ca, cert, key },
 * };
 */
export type MachineTokenOptions = CommonOptions & {
  readonly authUrl: string;
  /** The address with its port, 9021. */
  readonly deviceAuthUrl: string;
  /** Required for the family tetra. */
  readonly serialNumber?: string;
  /** Selects one of several credentials; default: the first. */
  choose?(credentials: readonly MerchantCredentials[]): MerchantCredentials | undefined;
};

/**
 * The options of a terminal at which a user signs in. The source calls `signIn` if it has no
 * refresh token.
 *
 * @example
 * const options: PasswordTokenOptions = {
 *   deviceAuthUrl: 'https://pay.example:9021', clientId: 'acme-device', tls: { ca, cert, key },
 *   signIn: async () => ({ username, password, totp }),
 * };
 */
export type PasswordTokenOptions = CommonOptions & {
  readonly deviceAuthUrl: string;
  readonly clientId: string;
  readonly scope?: string;
  signIn(): Promise<{ username: string; password: string; totp?: string }>;
};

/**
 * For the demo environment: gets a device token without the device, for a user of its merchant.
 *
 * @example
 * const options: CustomTokenOptions = {
 *   authUrl: 'https://localhost:8443', realm: 'demo', clientId: 'demo-device',
 *   deviceId: 'AXIUM_DX8000-10000001', merchantToken: async () => token, tls: { ca },
 * };
 */
export type CustomTokenOptions = CommonOptions & {
  readonly authUrl: string;
  readonly realm: string;
  /** The application at which the user signed in; it is also used for refreshes. */
  readonly clientId: string;
  readonly deviceId: string;
  readonly deviceModel?: string;
  /** `api`, `device_flow`, or both with a space between. */
  readonly method?: string;
  merchantToken(): Promise<string>;
};

const secondMs = 1000;

type Grants = {
  requestNew(): Promise<IssuedToken>;
  refresh?(refreshToken: string): Promise<IssuedToken>;
};

/**
 * Shares one token request between all callers; an abort ends only the wait of its caller. If a
 * refresh token is refused, the source starts with the first grant again.
 */
function cacheToken(grants: Grants, clock: Clock): TokenSource {
  let refreshToken: string | undefined;

  async function requestOrRefresh(): Promise<IssuedToken> {
    if (refreshToken === undefined || grants.refresh === undefined) return grants.requestNew();
    try {
      return await grants.refresh(refreshToken);
    } catch (error) {
      if (!(error instanceof DeviceError) || error.code !== 'invalid_grant') throw error;
      refreshToken = undefined;
      return grants.requestNew();
    }
  }

  const cache = createTokenCache(async () => {
    const requestedAt = clock.now();
    const issued = await requestOrRefresh();
    ({ refreshToken } = issued);
    const lifeMs = issued.expiresInSeconds * secondMs;
    const renewAt = requestedAt + Math.max(lifeMs - renewBeforeExpiryMs, lifeMs / 2);
    return { token: issued.accessToken, renewAt };
  }, clock);

  return {
    async get(signal) {
      if (signal?.aborted === true) throw abortedError();
      const { token } = await unlessAborted(cache.get(), signal, createDeviceError);
      return token;
    },
    invalidate: (token) => cache.invalidate(token),
  };
}

const withClose = (source: TokenSource, httpClient: HttpClient): DeviceTokens => ({
  ...source,
  close: () => httpClient.close(),
});

const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, '');

/**
 * Requests the credentials of the terminal by its certificate. Each call creates a new secret; the
 * previous one stays valid for ten minutes.
 *
 * @param options - the address and the certificate
 * @returns the credentials of the merchant that the terminal may act for
 * @throws DeviceError with the code of the refusal
 * @example
 * ```ts
 * const [merchant] = await requestMerchantCredentials({ authUrl, tls: { ca, cert, key } });
 * ```
 */
export async function requestMerchantCredentials(
  options: Pick<MachineTokenOptions, 'authUrl' | 'serialNumber' | 'tls'> & { signal?: AbortSignal },
): Promise<MerchantCredentials[]> {
  requireSecureUrl(options.authUrl, 'authUrl', 'https', createDeviceError);
  const http = createDeviceHttpClient(options.tls);
  try {
    const { authUrl, serialNumber, signal } = options;
    return await fetchCredentials(http, withoutTrailingSlash(authUrl), serialNumber, signal);
  } finally {
    http.close();
  }
}

/**
 * Tokens of a terminal that authenticates with its certificate. The source looks up credentials by
 * the certificate, then uses client credentials over mutual TLS. It looks up invalid credentials
 * again, once.
 *
 * @param options - the addresses and the certificate
 * @returns a source; it sends no request before `get`
 * @throws DeviceError `address_invalid`
 * @example
 * ```ts
 * const tokens = machineTokens({ authUrl, deviceAuthUrl, tls: { ca, cert, key } });
 * const payments = createPaymentClient({ baseUrl, tokens, tls: { ca, cert, key } });
 * ```
 */
export function machineTokens(options: MachineTokenOptions): DeviceTokens {
  const { authUrl, deviceAuthUrl, serialNumber, clock = systemClock } = options;
  requireSecureUrl(authUrl, 'authUrl', 'https', createDeviceError);
  requireSecureUrl(deviceAuthUrl, 'deviceAuthUrl', 'https', createDeviceError);
  const http = createDeviceHttpClient(options.tls);
  const choose = options.choose ?? (([first]: readonly MerchantCredentials[]) => first);
  let credentials: MerchantCredentials | undefined;

  async function lookUp(): Promise<MerchantCredentials> {
    const chosen = choose(
      await fetchCredentials(http, withoutTrailingSlash(authUrl), serialNumber),
    );
    if (chosen === undefined)
      throw invalidError('no_credentials', 'the platform returned no credentials for the terminal');
    credentials = chosen;
    return chosen;
  }

  const requestWithCredentials = ({ clientId, clientSecret }: MerchantCredentials) =>
    requestToken(http, `${withoutTrailingSlash(deviceAuthUrl)}/oauth2-mtls/v1/token`, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });

  async function requestNew(): Promise<IssuedToken> {
    const currentCredentials = credentials;
    if (currentCredentials === undefined) return requestWithCredentials(await lookUp());
    try {
      return await requestWithCredentials(currentCredentials);
    } catch (error) {
      if (!(error instanceof DeviceError) || error.code !== 'invalid_client') throw error;
      return requestWithCredentials(await lookUp());
    }
  }

  return withClose(cacheToken({ requestNew }, clock), http);
}

/**
 * Tokens of a terminal at which a user signs in: the password grant over mutual TLS, then
 * refreshes.
 *
 * @param options - the address and the function that gets user name and password
 * @returns a source; it sends no request before `get`
 * @throws DeviceError `address_invalid`
 * @example
 * ```ts
 * const tokens = passwordTokens({ deviceAuthUrl, clientId, tls, signIn: () => askAtTheScreen() });
 * ```
 */
export function passwordTokens(options: PasswordTokenOptions): DeviceTokens {
  const { deviceAuthUrl, clientId, scope, signIn, clock = systemClock } = options;
  requireSecureUrl(deviceAuthUrl, 'deviceAuthUrl', 'https', createDeviceError);
  const http = createDeviceHttpClient(options.tls);
  const url = `${withoutTrailingSlash(deviceAuthUrl)}/oauth2-mtls/v1/token`;
  const post = (form: Readonly<Record<string, string | undefined>>) =>
    requestToken(http, url, { ...form, client_id: clientId, scope });
  return withClose(
    cacheToken(
      {
        requestNew: async () => post({ grant_type: 'password', ...(await signIn()) }),
        refresh: (token) => post({ grant_type: 'refresh_token', refresh_token: token }),
      },
      clock,
    ),
    http,
  );
}

/**
 * Gets device tokens without a device; only the demo environment supports this.
 *
 * @param options - the device, and the token of a user of its merchant
 * @returns a source; it sends no request before `get`
 * @throws DeviceError `address_invalid`
 * @example
 * ```ts
 * const tokens = customTokens({ authUrl, realm: 'demo', clientId, deviceId: tsn, merchantToken, tls: { ca } });
 * ```
 */
export function customTokens(options: CustomTokenOptions): DeviceTokens {
  const { authUrl, realm, clientId, deviceId, clock = systemClock } = options;
  requireSecureUrl(authUrl, 'authUrl', 'https', createDeviceError);
  const http = createDeviceHttpClient(options.tls);
  const base = withoutTrailingSlash(authUrl);
  const name = encodeURIComponent(realm);
  return withClose(
    cacheToken(
      {
        async requestNew() {
          const form = {
            device_model: options.deviceModel,
            device_id: deviceId,
            method: options.method ?? 'api',
          };
          const authorization = `Bearer ${await options.merchantToken()}`;
          const url = `${base}/auth/realms/${name}/custom-token`;
          return requestToken(http, url, form, { authorization });
        },
        refresh: (token) =>
          requestToken(http, `${base}/oauth2/v1/${name}/token`, {
            grant_type: 'refresh_token',
            refresh_token: token,
            client_id: clientId,
          }),
      },
      clock,
    ),
    http,
  );
}
