// The public interface of the package.
export * from './acquirer-host/index.ts';
export * from './http-acquirer/index.ts';
export * from './qr-provider/index.ts';
export * from './terminal/index.ts';
