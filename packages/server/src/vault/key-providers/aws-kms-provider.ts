// Wraps the vault's keys with AWS KMS, in calls that are signed with Signature Version 4.
import {
  type AwsCredentials,
  type AwsResult,
  type Clock,
  createAwsClient,
  pause,
  withJitter,
} from '../../platform/index.ts';
import { type KeyIdentity, type KeyProvider, KeyProviderError } from './key-provider.ts';

const prefix = 'aws-kms:';
const callTimeoutMs = 5_000;
const connections = 4;
const maxAttempts = 3;
const retryPauseMs = 100;
/** Temporary exceptions of KMS, after which a retry may succeed. */
const temporaryExceptions =
  /Throttling|LimitExceeded|KMSInternal|DependencyTimeout|KeyUnavailable|ServiceUnavailable|InternalFailure/;

type Options = {
  /** The ARN of a key or an alias; its region selects the KMS endpoint. */
  readonly keyArn: string;
  readonly credentials: AwsCredentials;
  readonly url?: string | undefined;
  readonly clock: Clock;
  readonly timeoutMs?: number;
};

type KmsResponse = Readonly<Record<string, unknown>>;

/** Binds a wrapped key to its owner; KMS refuses to decrypt it with another context. */
const toEncryptionContext = ({ organizationId, keyId, purpose }: KeyIdentity) => ({
  switchyard: 'vault-key',
  organizationId,
  keyId,
  purpose,
});

/** @example const provider = createAwsKmsProvider({ keyArn, credentials, clock }); */
export function createAwsKmsProvider(options: Options): KeyProvider {
  const { keyArn, credentials, clock, timeoutMs = callTimeoutMs } = options;
  const region = keyArn.split(':')[3] ?? '';
  const endpoint = options.url ?? `https://kms.${region}.amazonaws.com`;
  const client = createAwsClient({
    service: 'kms',
    region,
    endpoint,
    credentials,
    clock,
    timeoutMs,
    connections,
  });
  const stopping = new AbortController();

  async function call(action: string, body: object): Promise<KmsResponse> {
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `TrentService.${action}`,
    };
    for (let attempt = 1; ; attempt += 1) {
      const result = await client.call({ path: '/', headers, body });
      if ('response' in result) return result.response;
      const error = toKeyProviderError(action, result);
      const isLast = attempt === maxAttempts || stopping.signal.aborted;
      if (error.code === 'Refused' || isLast) throw error;
      await pause(withJitter(retryPauseMs * 2 ** attempt), stopping.signal);
    }
  }

  return {
    wrappingKeyName: prefix + keyArn,
    canUnwrap: (wrappedBy) => wrappedBy.startsWith(prefix),
    async wrap(key, identity) {
      const response = await call('Encrypt', {
        KeyId: keyArn,
        Plaintext: key.toString('base64'),
        EncryptionContext: toEncryptionContext(identity),
      });
      return { bytes: readBytes(response, 'CiphertextBlob'), wrappedBy: prefix + keyArn };
    },
    async unwrap({ bytes, wrappedBy }, identity) {
      // The explicit key ID prevents that KMS accepts a ciphertext under another permitted key.
      const response = await call('Decrypt', {
        KeyId: wrappedBy.slice(prefix.length),
        CiphertextBlob: bytes.toString('base64'),
        EncryptionContext: toEncryptionContext(identity),
      });
      return readBytes(response, 'Plaintext');
    },
    async close() {
      stopping.abort();
      client.close();
    },
  };
}

function toKeyProviderError(
  action: string,
  result: Exclude<AwsResult, { answer: unknown }>,
): KeyProviderError {
  if (result.exceptionName === undefined) {
    return new KeyProviderError(
      'Unavailable',
      `AWS KMS did not answer ${action}: ${result.failure}`,
    );
  }
  const { exceptionName, status } = result;
  const isTemporary = status >= 500 || status === 429 || temporaryExceptions.test(exceptionName);
  const code = isTemporary ? 'Unavailable' : 'Refused';
  return new KeyProviderError(code, `AWS KMS answered ${action} with ${exceptionName}`);
}

function readBytes(response: KmsResponse, member: string): Buffer {
  const text = response[member];
  if (typeof text === 'string' && text.length > 0) return Buffer.from(text, 'base64');
  throw new KeyProviderError('Unavailable', `AWS KMS answered without ${member}`);
}
