/** DUKPT keys, PIN blocks and their translation. */
export * from './aes-dukpt.ts';
export * from './block.ts';
export * from './check-value.ts';
export * from './data.ts';
export * from './errors.ts';
export * from './key-wrap.ts';
export * from './ksn.ts';
export * from './mac.ts';
export * from './tdes-dukpt.ts';
export * from './translate.ts';
