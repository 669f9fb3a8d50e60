// The public interface of the reference acquirer of the HTTP/JSON acquirer SPI.
export { type HttpAcquirer, type HttpAcquirerOptions, startHttpAcquirer } from './server.ts';
