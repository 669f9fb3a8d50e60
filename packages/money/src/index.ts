/** Amounts in minor units and the table of currencies. */
export * from './limits.ts';
