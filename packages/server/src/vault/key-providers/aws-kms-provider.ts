// Wraps the vault's keys with AWS KMS, in calls that are signed with Signature Version 4.
import {
  type AwsCredentials,
  type AwsResult,
  type Clock,
  createAwsClient,
  pause,
  withJitter,
} from '../../platform/index.ts';
import { type KeyPlace, type KeyProvider, KeyProviderFault } from './key-provider.ts';

const prefix = 'aws-kms:';
const callTimeoutMs = 5_000;
const connections = 4;
const triesMax = 3;
const retryPauseMs = 100;
/** Temporary exceptions of KMS, after which a retry may succeed. */
const passing =
  /Throttling|LimitExceeded|KMSInternal|DependencyTimeout|KeyUnavailable|ServiceUnavailable|InternalFailure/;

type Options = {
  /** The ARN of a key or an alias; its region selects the KMS endpoint. */
  readonly keyArn: string;
  readonly credentials: AwsCredentials;
  readonly url?: string | undefined;
  readonly clock: Clock;
  readonly timeoutMs?: number;
};

type Answer = Readonly<Record<string, unknown>>;

/** Binds a wrapped key to its owner; KMS refuses to decrypt it with another context. */
const contextOf = ({ organizationId, keyId, purpose }: KeyPlace) => ({
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

  async function call(action: string, body: object): Promise<Answer> {
    const headers = {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `TrentService.${action}`,
    };
    for (let tries = 1; ; tries += 1) {
      const result = await client.call({ path: '/', headers, body });
      if ('response' in result) return result.response;
      const fault = faultOf(action, result);
      const isLast = tries === triesMax || stopping.signal.aborted;
      if (fault.code === 'Refused' || isLast) throw fault;
      await pause(withJitter(retryPauseMs * 2 ** tries), stopping.signal);
    }
  }

  return {
    wrapsWith: prefix + keyArn,
    knows: (wrappedBy) => wrappedBy.startsWith(prefix),
    async wrap(key, place) {
      const answer = await call('Encrypt', {
        KeyId: keyArn,
        Plaintext: key.toString('base64'),
        EncryptionContext: contextOf(place),
      });
      return { bytes: bytesOf(answer, 'CiphertextBlob'), wrappedBy: prefix + keyArn };
    },
    async unwrap({ bytes, wrappedBy }, place) {
      // The explicit key ID prevents that KMS accepts a ciphertext under another permitted key.
      const answer = await call('Decrypt', {
        KeyId: wrappedBy.slice(prefix.length),
        CiphertextBlob: bytes.toString('base64'),
        EncryptionContext: contextOf(place),
      });
      return bytesOf(answer, 'Plaintext');
    },
    async close() {
      stopping.abort();
      client.close();
    },
  };
}

function faultOf(
  action: string,
  result: Exclude<AwsResult, { answer: unknown }>,
): KeyProviderFault {
  if (result.exceptionName === undefined) {
    return new KeyProviderFault(
      'Unavailable',
      `AWS KMS did not answer ${action}: ${result.failure}`,
    );
  }
  const { exceptionName, status } = result;
  const isPassing = status >= 500 || status === 429 || passing.test(exceptionName);
  const code = isPassing ? 'Unavailable' : 'Refused';
  return new KeyProviderFault(code, `AWS KMS answered ${action} with ${exceptionName}`);
}

function bytesOf(answer: Answer, member: string): Buffer {
  const text = answer[member];
  if (typeof text === 'string' && text.length > 0) return Buffer.from(text, 'base64');
  throw new KeyProviderFault('Unavailable', `AWS KMS answered without ${member}`);
}
