// Signs audit checkpoints with a key derived from the master key.
import { type AuditCheckpoint, type AuditKey, auditCheckpointText } from '@switchyard/contract';
import { createSigningKey } from '../platform/index.ts';

export type CheckpointSigner = {
  readonly key: AuditKey;
  sign(content: Omit<AuditCheckpoint, 'keyId' | 'signature'>): AuditCheckpoint;
};

export function createCheckpointSigner(masterKey: Buffer): CheckpointSigner {
  const { key, sign } = createSigningKey(masterKey, 'audit checkpoints');
  return {
    key,
    sign(content) {
      const unsigned = { ...content, keyId: key.kid };
      return { ...unsigned, signature: sign(auditCheckpointText(unsigned)) };
    },
  };
}
