/** DUKPT keys, PIN blocks and their translation. */
export {
  type AesPurpose,
  aesInitialKey,
  aesTransactionKey,
  aesWorkingKey,
  type WorkingAlgorithm,
  workingAlgorithmOf,
} from './aes-dukpt.ts';
export * from './dukpt-key-cache.ts';
export * from './encrypt-data.ts';
export * from './errors.ts';
export * from './key-check-value.ts';
export * from './key-wrap.ts';
export * from './ksn.ts';
export * from './mac.ts';
export * from './pin-block.ts';
export {
  type TdesPurpose,
  tdesInitialKey,
  tdesTransactionKey,
  tdesWorkingKey,
} from './tdes-dukpt.ts';
export * from './translate-pin.ts';
