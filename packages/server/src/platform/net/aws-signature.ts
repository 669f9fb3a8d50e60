// Signs requests to Amazon Web Services: Signature Version 4, including the payload.
import { defined } from '@switchyard/contract';
import { AwsV4Signer } from 'aws4fetch';
import { isoTime } from '../time/clock.ts';

export type AwsCredentials = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of temporary credentials. */
  readonly sessionToken?: string | undefined;
};

export type AwsRequest = {
  readonly method: string;
  /** The path is percent-encoded once, as it is sent. */
  readonly url: URL;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type AwsScope = {
  readonly service: string;
  readonly region: string;
  readonly credentials: AwsCredentials;
  /** Epoch milliseconds. */
  readonly now: number;
};

/**
 * Returns the headers to send without `host`: the given ones, the time, the session token and the
 * signature.
 *
 * @example const headers = await signAwsRequest(request, { service: 'kms', region, credentials, now: clock.now() });
 */
export async function signAwsRequest(
  { method, url, headers, body }: AwsRequest,
  { service, region, credentials, now }: AwsScope,
): Promise<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers },
    body,
    service,
    region,
    accessKeyId,
    secretAccessKey,
    ...defined({ sessionToken }),
    datetime: isoTime(now).replace(/[-:]|\.\d{3}/g, ''),
    // The library would leave out some headers, because browsers and proxies change them.
    allHeaders: true,
  });
  const signed = await signer.sign();
  return Object.fromEntries(signed.headers);
}
