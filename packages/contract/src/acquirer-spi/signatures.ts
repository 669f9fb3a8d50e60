/**
 * Signatures of the acquirer SPI: HTTP Message Signatures (RFC 9421) with Ed25519, over a digest of
 * the body (RFC 9530). This module only builds the texts; the caller provides the cryptography.
 */
import { defined } from '../defined.ts';

/** The label of the only signature in a message. */
const label = 'spi';

/**
 * How far the clocks of both sides may differ, in seconds. An older signature counts as replayed.
 *
 * @example
 * const isFresh = Math.abs(nowSeconds - created) <= spiClockToleranceSeconds;
 */
export const spiClockToleranceSeconds = 300;

/**
 * The components that a request signs: its method, its path as sent, and its body.
 *
 * @example
 * spiRequestComponents.join(' '); // "@method" "@path" "content-digest"
 */
export const spiRequestComponents = ['"@method"', '"@path"', '"content-digest"'] as const;

/**
 * The components that a response signs: its status, its body and the signature of its request. The
 * last one binds the response to this request.
 *
 * @example
 * spiAnswerComponents[0]; // "@status"
 */
export const spiAnswerComponents = [
  '"@status"',
  '"content-digest"',
  `"signature";req;key="${label}"`,
] as const;

/**
 * The signed parts of a request or of a response. `sha256` is the SHA-256 of the body in base64.
 *
 * @example
 * const request: SpiSignedParts = { method: 'POST', path: '/v1/echo', sha256 };
 * const response: SpiSignedParts = { status: 200, requestSignature, sha256 };
 */
export type SpiSignedParts = { readonly sha256: string } & (
  | { readonly method: string; readonly path: string }
  | { readonly status: number; readonly requestSignature: string }
);

/**
 * The parameters of a signature.
 *
 * @example
 * const parameters: SpiSignatureParameters = { created: 1_767_225_600, keyId: 'k1', nonce: 'aGVsbG8' };
 */
export type SpiSignatureParameters = {
  /** Seconds since 1970. */
  readonly created: number;
  readonly keyId: string;
  /** Different for each request. */
  readonly nonce?: string;
};

const contentDigest = (sha256: string): string => `sha-256=:${sha256}:`;

/** The value of each component that the message must sign. */
function componentValues(parts: SpiSignedParts): Readonly<Record<string, string>> {
  const digest = { [spiRequestComponents[2]]: contentDigest(parts.sha256) };
  if ('status' in parts) {
    const [status, , requestSignature] = spiAnswerComponents;
    return {
      [status]: String(parts.status),
      ...digest,
      [requestSignature]: parts.requestSignature,
    };
  }
  const [method, path] = spiRequestComponents;
  return { [method]: parts.method, [path]: parts.path, ...digest };
}

/** The text to sign; undefined if a named component has no value. */
function signatureBase(
  input: string,
  components: readonly string[],
  values: Readonly<Record<string, string>>,
): string | undefined {
  const lines = components.map((component) => {
    const value = values[component];
    return value === undefined ? undefined : `${component}: ${value}`;
  });
  return lines.includes(undefined)
    ? undefined
    : [...lines, `"@signature-params": ${input}`].join('\n');
}

/**
 * The headers of a signed message, and its signature as its response names it.
 *
 * @example
 * const { headers, signature }: SignedSpiMessage = signSpiMessage(parts, parameters, sign);
 */
export type SpiSignatureHeaders = {
  readonly headers: {
    readonly 'content-digest': string;
    readonly 'signature-input': string;
    readonly signature: string;
  };
  readonly signature: string;
};

/**
 * Signs a message.
 *
 * @param sign - returns the Ed25519 signature of a text in base64
 * @example
 * const { headers } = signSpiMessage({ method: 'POST', path, sha256 }, { created, keyId, nonce }, sign);
 */
export function signSpiMessage(
  parts: SpiSignedParts,
  { created, keyId, nonce }: SpiSignatureParameters,
  sign: (text: string) => string,
): SpiSignatureHeaders {
  const values = componentValues(parts);
  const components = Object.keys(values);
  const nonceParameter = nonce === undefined ? '' : `;nonce="${nonce}"`;
  const input = `(${components.join(' ')});created=${created};keyid="${keyId}"${nonceParameter};alg="ed25519"`;
  const signature = `:${sign(signatureBase(input, components, values) ?? '')}:`;
  return {
    signature,
    headers: {
      'content-digest': contentDigest(parts.sha256),
      'signature-input': `${label}=${input}`,
      signature: `${label}=${signature}`,
    },
  };
}

const item = '"[a-z@-]+"(?:;req)?(?:;key="[a-z]+")?';
const inputPattern = new RegExp(`^${label}=(\\((${item}(?: ${item})*)\\)(.*))$`);
const signaturePattern = new RegExp(`^${label}=:([A-Za-z0-9+/=]+):$`);
const headerMax = 2000;

type ReadSignature = SpiSignatureParameters & {
  /** The value of `Signature-Input` after its label; it is part of the signed text. */
  readonly input: string;
  readonly components: readonly string[];
  /** Base64. */
  readonly signature: string;
};

/** Returns undefined if the two headers do not match the SPI. */
function readSignature(signatureInput: string, header: string): ReadSignature | undefined {
  if (signatureInput.length > headerMax || header.length > headerMax) return undefined;
  const [, input, components, parameters] = inputPattern.exec(signatureInput) ?? [];
  const signature = signaturePattern.exec(header)?.[1];
  if (input === undefined || components === undefined || parameters === undefined) return undefined;
  const created = /;created=(\d{1,12})(?:;|$)/.exec(parameters)?.[1];
  const keyId = /;keyid="([^"\\]{1,200})"(?:;|$)/.exec(parameters)?.[1];
  const nonce = /;nonce="([^"\\]{1,200})"(?:;|$)/.exec(parameters)?.[1];
  const algorithm = /;alg="([^"\\]*)"(?:;|$)/.exec(parameters)?.[1] ?? 'ed25519';
  if (signature === undefined || created === undefined || keyId === undefined) return undefined;
  if (algorithm !== 'ed25519') return undefined;
  return {
    input,
    components: components.split(' '),
    signature,
    created: Number(created),
    keyId,
    ...defined({ nonce }),
  };
}

/**
 * What is wrong with a signature.
 *
 * - `missing`: no signature of the SPI
 * - `digest_wrong`: `Content-Digest` does not match the body
 * - `components_missing`: the signature does not cover all required components
 * - `key_unknown`: the key identifier is unknown
 * - `stale`: the signature is too old, or its time is in the future
 * - `wrong`: the signature does not match the message
 *
 * @example
 * const fault: SpiSignatureFault = 'stale';
 */
export type SpiSignatureFault =
  | 'missing'
  | 'digest_wrong'
  | 'components_missing'
  | 'key_unknown'
  | 'stale'
  | 'wrong';

/**
 * The signature as the response names it, or the fault.
 *
 * @example
 * const verification: SpiVerification = { fault: 'key_unknown', keyId: 'k9' };
 */
export type SpiVerification =
  | { readonly fault?: undefined; readonly signature: string; readonly nonce?: string }
  | { readonly fault: SpiSignatureFault; readonly keyId?: string };

/**
 * Verifies the signature of a message. A repeated message is valid: the receiver of requests checks
 * the nonce.
 *
 * @param parts - the message as received
 * @param headers - the headers as received, with names in lower case
 * @param options - milliseconds since 1970, and a function that returns whether the key signed the
 *   text; undefined for an unknown key
 * @example
 * const { fault } = verifySpiMessage({ status, requestSignature, sha256 }, headers, { now, verify });
 */
export function verifySpiMessage(
  parts: SpiSignedParts,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  options: {
    readonly now: number;
    readonly verify: (keyId: string, text: string, signature: string) => boolean | undefined;
  },
): SpiVerification {
  const headerText = (name: string): string => {
    const value = headers[name];
    return typeof value === 'string' ? value : '';
  };
  const read = readSignature(headerText('signature-input'), headerText('signature'));
  if (read === undefined) return { fault: 'missing' };
  if (headerText('content-digest') !== contentDigest(parts.sha256))
    return { fault: 'digest_wrong' };
  const values = componentValues(parts);
  if (!Object.keys(values).every((component) => read.components.includes(component))) {
    return { fault: 'components_missing' };
  }
  if (Math.abs(options.now / 1000 - read.created) > spiClockToleranceSeconds) {
    return { fault: 'stale' };
  }
  const { keyId, nonce, signature } = read;
  const text = signatureBase(read.input, read.components, values);
  if (text === undefined) return { fault: 'wrong' };
  const matches = options.verify(keyId, text, signature);
  if (matches === undefined) return { fault: 'key_unknown', keyId };
  return matches ? { signature: `:${signature}:`, ...defined({ nonce }) } : { fault: 'wrong' };
}
