/**
 * Signatures of the acquirer SPI: HTTP Message Signatures (RFC 9421) with Ed25519, over a digest of
 * the body (RFC 9530). This module only builds the texts; the caller provides the cryptography.
 */
import { defined } from '../defined.ts';

/**
 * The label of the only signature in a message.
 *
 * @example
 * headers['signature-input']; // spi=("@method" "@path" "content-digest");created=…;keyid="…"
 */
export const spiSignatureLabel = 'spi';

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
 * spiSignatureInputHeader(spiRequestComponents, { created, keyId, nonce });
 */
export const spiRequestComponents = ['"@method"', '"@path"', '"content-digest"'] as const;

/**
 * The components that a response signs: its status, its body and the signature of its request. The
 * last one binds the response to this request.
 *
 * @example
 * spiSignatureInputHeader(spiAnswerComponents, { created, keyId });
 */
export const spiAnswerComponents = [
  '"@status"',
  '"content-digest"',
  `"signature";req;key="${spiSignatureLabel}"`,
] as const;

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

/**
 * The value of `Signature-Input` after its label.
 *
 * @example
 * spiSignatureInputHeader(spiRequestComponents, { created: 1, keyId: 'k' });
 * // ("@method" "@path" "content-digest");created=1;keyid="k";alg="ed25519"
 */
export function spiSignatureInputHeader(
  components: readonly string[],
  { created, keyId, nonce }: SpiSignatureParameters,
): string {
  const random = nonce === undefined ? '' : `;nonce="${nonce}"`;
  return `(${components.join(' ')});created=${created};keyid="${keyId}"${random};alg="ed25519"`;
}

/**
 * The text to sign.
 *
 * @param input the value of `Signature-Input` after its label, unchanged
 * @param values the value of each component
 * @returns undefined if a named component has no value
 * @example
 * spiSignatureBase(input, { '"@method"': 'POST', '"@path"': '/v1/echo', '"content-digest"': digest });
 */
export function spiSignatureBase(
  input: string,
  values: Readonly<Record<string, string>>,
): string | undefined {
  const components = componentsOf(input);
  if (components === undefined) return undefined;
  const lines: string[] = [];
  for (const component of components) {
    const value = values[component];
    if (value === undefined) return undefined;
    lines.push(`${component}: ${value}`);
  }
  return [...lines, `"@signature-params": ${input}`].join('\n');
}

const item = '"[a-z@-]+"(?:;req)?(?:;key="[a-z]+")?';
const listPattern = new RegExp(`^\\((${item}(?: ${item})*)\\)`);

function componentsOf(input: string): string[] | undefined {
  return listPattern.exec(input)?.[1]?.split(' ');
}

/**
 * A signature from the headers of a message.
 *
 * @example
 * const { input, keyId, signature } = readSpiSignature(headers) ?? refuse();
 */
export type SpiSignature = SpiSignatureParameters & {
  /** The value of `Signature-Input` after its label; it is part of the signed text. */
  readonly input: string;
  readonly components: readonly string[];
  /** Base64. */
  readonly signature: string;
};

const headerMax = 2000;
const labelled = new RegExp(`^${spiSignatureLabel}=(\\(.*)$`);
const signaturePattern = new RegExp(`^${spiSignatureLabel}=:([A-Za-z0-9+/=]+):$`);

/**
 * Reads the two headers of a signature. Returns undefined if they do not match the SPI.
 *
 * @example
 * readSpiSignature({ signatureInput: headers['signature-input'], signature: headers['signature'] });
 */
export function readSpiSignature(headers: {
  readonly signatureInput: string | undefined;
  readonly signature: string | undefined;
}): SpiSignature | undefined {
  const { signatureInput = '', signature: header = '' } = headers;
  if (signatureInput.length > headerMax || header.length > headerMax) return undefined;
  const input = labelled.exec(signatureInput)?.[1];
  const signature = signaturePattern.exec(header)?.[1];
  const components = input === undefined ? undefined : componentsOf(input);
  if (input === undefined || signature === undefined || components === undefined) return undefined;
  const parameters = input.slice(input.indexOf(')') + 1);
  const created = /;created=(\d{1,12})(?:;|$)/.exec(parameters)?.[1];
  const keyId = /;keyid="([^"\\]{1,200})"(?:;|$)/.exec(parameters)?.[1];
  const nonce = /;nonce="([^"\\]{1,200})"(?:;|$)/.exec(parameters)?.[1];
  const algorithm = /;alg="([^"\\]*)"(?:;|$)/.exec(parameters)?.[1] ?? 'ed25519';
  if (created === undefined || keyId === undefined || algorithm !== 'ed25519') return undefined;
  return {
    input,
    components,
    signature,
    created: Number(created),
    keyId,
    ...defined({ nonce }),
  };
}

/**
 * Whether a signature covers all required components.
 *
 * @example
 * if (!coversSpiComponents(signature, spiRequestComponents)) refuse();
 */
export function coversSpiComponents(
  { components }: Pick<SpiSignature, 'components'>,
  requiredComponents: readonly string[],
): boolean {
  return requiredComponents.every((component) => components.includes(component));
}

/**
 * Whether a signature was made recently.
 *
 * @param now milliseconds since 1970
 * @example
 * if (!isFreshSpiSignature(signature, clock.now())) refuse();
 */
export function isFreshSpiSignature(
  { created }: Pick<SpiSignature, 'created'>,
  now: number,
): boolean {
  return Math.abs(now / 1000 - created) <= spiClockToleranceSeconds;
}

/**
 * The value of `Content-Digest`.
 *
 * @param sha256 the SHA-256 of the body in base64
 * @example
 * spiContentDigest(hash('sha256', body, 'base64')); // sha-256=:…:
 */
export function spiContentDigest(sha256: string): string {
  return `sha-256=:${sha256}:`;
}
