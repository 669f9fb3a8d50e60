// A software authenticator (WebAuthn level 3), independent of the server's library: ES256, no
// attestation.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';

const userPresent = 0x01;
const hasCredential = 0x40;

type AuthenticatorFaults = {
  /** The origin of the page in the browser. */
  readonly origin?: string;
  readonly rpId?: string;
  /** The signature counter; default: one more than last time. */
  readonly counter?: number;
  readonly isAbsent?: boolean;
  readonly challenge?: string;
};

export type Authenticator = ReturnType<typeof createAuthenticator>;

/** @param counts false: an authenticator without a counter, as passkeys of phones */
export function createAuthenticator(origin: string, { counts: hasCounter = true } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const credentialId = randomBytes(32);
  const id = credentialId.toString('base64url');
  let counter = 0;

  function authenticatorData(
    rpId: string,
    flags: number,
    count: number,
    rest = Buffer.alloc(0),
  ): Buffer {
    const numbers = Buffer.alloc(5);
    numbers.writeUInt8(flags, 0);
    numbers.writeUInt32BE(count, 1);
    return Buffer.concat([sha256(Buffer.from(rpId)), numbers, rest]);
  }

  function clientData(type: string, challenge: string, at: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: at, crossOrigin: false }));
  }

  function publicKeyBytes(): Buffer {
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    return cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
  }

  return {
    id,

    create(options: PublicKeyCredentialCreationOptionsJSON, faults: AuthenticatorFaults = {}) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const credential = Buffer.concat([Buffer.alloc(16), length, credentialId, publicKeyBytes()]);
      const rpId = faults.rpId ?? options.rp.id ?? '';
      const flags = hasCredential | (faults.isAbsent === true ? 0 : userPresent);
      const authData = authenticatorData(rpId, flags, 0, credential);
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ]);
      const challenge = faults.challenge ?? options.challenge;
      const data = clientData('webauthn.create', challenge, faults.origin ?? origin);
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: data.toString('base64url'),
          attestationObject: cbor(attestation).toString('base64url'),
          transports: ['usb'],
        },
      };
    },

    get(options: PublicKeyCredentialRequestOptionsJSON, faults: AuthenticatorFaults = {}) {
      counter = faults.counter ?? (hasCounter ? counter + 1 : 0);
      const rpId = faults.rpId ?? options.rpId ?? '';
      const authData = authenticatorData(rpId, faults.isAbsent === true ? 0 : userPresent, counter);
      const challenge = faults.challenge ?? options.challenge;
      const data = clientData('webauthn.get', challenge, faults.origin ?? origin);
      const signature = sign('sha256', Buffer.concat([authData, sha256(data)]), privateKey);
      return {
        id,
        rawId: id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: data.toString('base64url'),
          authenticatorData: authData.toString('base64url'),
          signature: signature.toString('base64url'),
        },
      };
    },
  };
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Encodes RFC 8949 as far as an authenticator needs it: small integers, bytes, texts, maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (typeof value === 'string') {
    const text = Buffer.from(value);
    return Buffer.concat([head(3, text.length), text]);
  }
  if (!(value instanceof Map)) throw new TypeError('no such value');
  const members = [...value].flatMap(([name, member]) => [cbor(name), cbor(member)]);
  return Buffer.concat([head(5, value.size), ...members]);
}

function head(major: number, count: number): Buffer {
  if (count < 24) return Buffer.of((major << 5) | count);
  if (count < 256) return Buffer.of((major << 5) | 24, count);
  return Buffer.of((major << 5) | 25, count >> 8, count & 0xff);
}
