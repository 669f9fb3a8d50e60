/** The styles of all Mantine components, loaded with the first screen. */
import '@mantine/core/styles.layer.css';
