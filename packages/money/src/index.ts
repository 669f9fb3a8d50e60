/** Amounts in minor units and the table of currencies. */
export * from './amounts.ts';
export * from './currencies.ts';
export * from './limits.ts';
