// The public interface of reference: countries, error codes, roles and groups.
export { registerReferenceRoutes } from './routes.ts';
