/** Declares a new service. */
import { ServiceForm } from './edit.tsx';

export default function NewService() {
  return <ServiceForm versioned={undefined} />;
}
