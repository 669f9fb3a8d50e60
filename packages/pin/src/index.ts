/** DUKPT keys, PIN blocks and their translation. */
export {
  type AesPurpose,
  aesInitialKey,
  aesTransactionKey,
  aesWorkingKey,
  type WorkingAlgorithm,
  workingAlgorithmOf,
} from './aes-dukpt.ts';
export * from './block.ts';
export * from './check-value.ts';
export * from './data.ts';
export * from './derived-keys.ts';
export * from './errors.ts';
export * from './key-wrap.ts';
export * from './ksn.ts';
export * from './mac.ts';
export {
  type TdesPurpose,
  tdesInitialKey,
  tdesTransactionKey,
  tdesWorkingKey,
} from './tdes-dukpt.ts';
export * from './translate.ts';
