/** A service that does not exist yet. */
import { Declaration } from './edit.tsx';

export default function NewService() {
  return <Declaration versioned={undefined} />;
}
