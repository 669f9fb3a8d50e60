// The door of the reference room: data that belongs to nobody and that everybody needs.
export { registerReferenceRoutes } from './routes.ts';
